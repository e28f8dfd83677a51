"""The list of series, and the page of one series with its chart and what helps to decide."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import sqlalchemy as sa
from fastapi import Query, Request
from markupsafe import Markup
from starlette.responses import Response

from barograph.results.series import Direction, SeriesId
from barograph.results.sizes import Size
from barograph.results.wording import (
    change_text,
    plural,
    printable,
    probability_text,
    typeset,
    unit_text,
)
from barograph.server.store import reading
from barograph.server.store.measurement import INTEGER
from barograph.server.triage.chart import Mark, MarkState, SeriesChart, series_chart
from barograph.server.triage.search import search_series
from barograph.server.web.pages.rendering import page_router, render
from barograph.server.web.routes.series import After, Label, SeriesNumber, Text, chart_json

PAGE = 50  # series of a list
EVERY = "*"  # in the place of a project
ROWS = 15  # results of the table at first: as many as its panel shows
BREAKS = "<>&\u2028\u2029"  # what could end a script element or a line of it
DIRECTIONS = {
    Direction.HIGHER_IS_BETTER: "higher is better",
    Direction.LOWER_IS_BETTER: "lower is better",
    Direction.UNKNOWN: "direction unknown",
}

routes = page_router()


@routes.get("/series")
def get_list(
    connection: sa.Connection,
    request: Request,
    q: Annotated[Text, Query(max_length=500)] = "",
    project: Label = None,
    after: After = 0,
) -> Response:
    """Answer the series that contain all words of a search."""
    chosen = None if project == EVERY else project
    matches = search_series(connection, q, project=chosen, after=after, limit=PAGE + 1)
    shown = matches[:PAGE]
    following = ""
    if len(matches) > PAGE:
        following = _query(q=q or None, project=chosen, after=shown[-1].series.id)
    return render(
        request,
        "series_list.html",
        active="series",
        matches=[(match, *names(match.series.name)) for match in shown],
        projects=reading.projects(connection),
        project=chosen,
        every=EVERY,
        q=q,
        following=following,
        first=_query(q=q or None, project=chosen) if after else "",
    )


@routes.get("/series/{number}")
def get_page(
    connection: sa.Connection,
    request: Request,
    number: SeriesNumber,
    from_: Annotated[int | None, Query(alias="from", ge=-INTEGER, le=INTEGER)] = None,  # noqa: ARG001
    to: Annotated[int | None, Query(ge=-INTEGER, le=INTEGER)] = None,  # noqa: ARG001
    axis: Literal["commits", "time"] = "commits",
    scale: Literal["fit", "zero", "log"] = "fit",
    change_point: Annotated[int | None, Query(ge=1, le=INTEGER)] = None,
) -> Response:
    """Answer the page of a series; the parameters are the view, which the script restores."""
    chart = series_chart(connection, number)
    return render(
        request,
        "series.html",
        active="series",
        chart=chart,
        name=names(chart.series.name)[0],
        crumbs=_crumbs(chart.series.name),
        direction=DIRECTIONS[chart.series.direction],
        unit=unit_text(chart.series.unit),
        data=for_script(chart_json(chart)),
        summary=summary(chart),
        focus=focus(chart, change_point),
        can_log=all(value > 0 for value in chart.values),
        axis=axis,
        scale=scale,
        shown=ROWS,
    )


def names(name: SeriesId) -> tuple[str, str]:
    """Return what people call a series, and the rest of its identity without the project."""
    title = name.test or name.measurement or name.project or "series"
    args = [f"{key} {value}" for key, value in name.args]
    rest = [name.variant, name.task, name.measurement, *args]
    return title, " · ".join(part for part in rest if part and part != title)


def for_script(json: bytes) -> Markup:
    """Return JSON that may stand in a script element of a page."""
    text = json.decode()
    for sign in BREAKS:
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - nothing in it can end the element


def focus(chart: SeriesChart, candidate: int | None) -> Mark | None:
    """Return the change point that a page is about.

    That is the requested one, else the newest that is open, else the newest.
    """
    real = [mark for mark in chart.marks if mark.state is not MarkState.MOVED]
    open_ = [mark for mark in real if mark.state is MarkState.UNPROCESSED]
    for marks in ([mark for mark in real if mark.id == candidate], open_, real):
        if marks:
            return marks[-1]
    return None


def summary(chart: SeriesChart) -> str:
    """Return the chart in words, for those who do not see it."""
    shown = [mark for mark in chart.marks if mark.state is not MarkState.MOVED]
    parts = [f"Chart of {plural(len(chart.values), 'result')}."]
    if not shown:
        parts.append("No change points.")
    else:
        parts.append(f"{plural(len(shown), 'change point')}, the newest first:")
        parts += [f"{_in_words(mark)}." for mark in reversed(shown[-5:])]
    parts.append("Left and right read results, brackets jump between change points.")
    return printable(" ".join(parts))


def _in_words(mark: Mark) -> str:
    size = ""
    if mark.before is not None and mark.after is not None:
        size = typeset(change_text(Size(mark.before, mark.after).percent))
    state = {MarkState.UNPROCESSED: "to decide"}.get(mark.state, mark.state.value)
    real = "" if mark.probability is None else f"{probability_text(mark.probability)} real"
    return ", ".join(filter(None, [f"{size} {mark.effect}".strip(), state, real]))


def _crumbs(name: SeriesId) -> list[tuple[str, str]]:
    """Return the labels above the name, each with the address of the series that share it."""
    crumbs = [(name.project, _query(project=name.project))] if name.project else []
    words = [name.variant, name.task, name.measurement]
    crumbs += [(word, _query(project=name.project, q=word)) for word in words if word]
    crumbs += [(f"{key} {value}", "") for key, value in name.args]
    return crumbs


def _query(**values: Any) -> str:
    """Return the address of a list of series."""
    kept = {name: value for name, value in values.items() if value is not None}
    return f"/series?{urlencode(kept)}" if kept else "/series"
