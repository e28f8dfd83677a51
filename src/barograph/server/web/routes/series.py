"""Series, their points, and the decisions on them; the list of series, and the page of one."""

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import msgspec
from fastapi import Query, Request
from jinja2.utils import htmlsafe_json_dumps
from pydantic import AfterValidator, BeforeValidator, Field
from starlette.responses import Response

from barograph.detection.online import AlarmStep
from barograph.detection.online.noise import Noise
from barograph.detection.slow import SlowChange
from barograph.results import wording
from barograph.results.series import LABELS, Direction, SeriesId
from barograph.results.sizes import Size
from barograph.results.texts import CONTROL
from barograph.server.store import reading
from barograph.server.store.measurement import INTEGER, CommitDecision, Limits
from barograph.server.store.reading import OtherModelError, Revision, StoredPoint, StoredSeries
from barograph.server.store.tokens import Scope
from barograph.server.triage.chart import Mark, MarkState, SeriesChart, series_chart
from barograph.server.triage.search import search_series
from barograph.server.web.context import Connection, Context, guarded_router
from barograph.server.web.pages.rendering import names, page_router, render
from barograph.server.web.responses import CONFLICT, ApiError, next_cursor
from barograph.server.web.schemas import answer, many, optional, page_of, schema_of


def _storable(text: str) -> str:
    if CONTROL.search(text):
        raise ValueError("holds a control character")
    return text


LIMITS = Limits()  # the defaults; a store with lower limits checks them itself
SERIES_PLACE = "/api/v1/series/{number}"
PLACE = f"{SERIES_PLACE}/points/{{order}}"
# Types of parameters and of fields of bodies.
Text = Annotated[str, AfterValidator(_storable)]  # as rows of the store can hold it
Label = Annotated[Text, Field(max_length=2000)]
Number = Annotated[int, Field(ge=1, le=INTEGER)]  # an id
Order = Annotated[int, Field(ge=-INTEGER, le=INTEGER)]  # the position of a commit in its project
Limit = Annotated[int, Field(ge=1, le=10_000, description="Rows of the page.")]
After = Annotated[int, Field(ge=0, le=INTEGER, description="From `next`.")]
Before = Annotated[Number | None, Field(description="From `next`.")]
FromOrder = Annotated[Order | None, Field(description="First order; or from `next`.")]
WithNoise = Annotated[bool, Query(description="Measure `noise`, which takes 10 ms a series.")]
Step = Literal["called", "confirmed", "moved", "withdrawn"]
DECISION = {name: f"decision.{name}" for name in (*CommitDecision._fields, "is_change")}
SERIES_LABELS: dict[str, Any] = {
    **{label: f"name.{label}" for label in LABELS},
    "args": ("name.args", Annotated[dict[str, str], BeforeValidator(dict)]),
}
SERIES = schema_of(StoredSeries, **SERIES_LABELS)
NOISE = many(optional(schema_of(Noise)))
POINT = schema_of(StoredPoint, without=("decision", "threshold"), **DECISION)
STEP = answer("SecondLookStep", kind=Step, order=int, probability=float, from_order=int | None)
SERIES_DECISION = schema_of(
    StoredPoint,
    "StoredDecision",
    without=("run", "commit", "time", "value", "settled", "decision"),
    **DECISION,
    current_state=Step | None,
    steps=many(answer("StoredStep", **STEP.__annotations__, model=str)),
)
CONTRIBUTION = Annotated[float | None, Field(validation_alias="part")]
REASONS = many(answer("FeatureReason", name=str, value=float, contribution=CONTRIBUTION))
REVISION = schema_of(Revision, without=("holds",), is_current="holds")
CHART = schema_of(SeriesChart, series=SERIES, levels=list[tuple[int, int, float, bool]])

PAGE = 50  # series of a list
MOST_WITH_NOISE = 100  # series of a page whose noise is measured
EVERY = "*"  # in the place of a project
ROWS = 15  # results of the table at first: as many as its panel shows
DIRECTIONS = {direction: direction.name.lower().replace("_", " ") for direction in Direction}
DIRECTIONS[Direction.UNKNOWN] = "direction unknown"

routes = guarded_router(Scope.READ, "series")
page_routes = page_router()


@routes.get("/api/v1/series", response_model=page_of("series", SERIES, noise=NOISE))
def get_all_series(
    context: Context,
    connection: Connection,
    project: Label | None = None,
    variant: Label | None = None,
    task: Label | None = None,
    test: Label | None = None,
    measurement: Label | None = None,
    noise: WithNoise = False,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return the series that have all given labels, and `noise` in the same order if asked for."""
    if noise and limit > MOST_WITH_NOISE:
        raise ApiError(422, f"limit is {limit}: at most {MOST_WITH_NOISE} with noise")
    texts = zip(LABELS, (project, variant, task, test, measurement), strict=True)
    labels = {name: text for name, text in texts if text is not None}
    rows = reading.find_series(connection, after=after, limit=limit, **labels)
    numbers = [row.id for row in rows] if noise else []
    known = context.noise.of(connection, context.model.judge, numbers) if numbers else {}
    found = [known[number] for number in numbers]
    return {"series": rows, "next": next_cursor(rows, limit), "noise": found}


@routes.get(SERIES_PLACE, response_model=SERIES)
def get_series(connection: Connection, number: Number) -> Any:
    """Return one series."""
    return reading.get_series(connection, number)


@routes.get(f"{SERIES_PLACE}/points", response_model=page_of("points", POINT))
def get_points(
    connection: Connection, number: Number, from_order: FromOrder = None, limit: Limit = 1000
) -> dict[str, Any]:
    """Return all results of a series, each with the decision on its commit."""
    points, following = _page(connection, number, from_order, limit)
    return {"points": points, "next": following}


@routes.get(f"{SERIES_PLACE}/decisions", response_model=page_of("decisions", SERIES_DECISION))
def get_decisions(
    connection: Connection,
    number: Number,
    changes_only: Annotated[bool, Query(description="Only decisions about a change.")] = False,
    from_order: FromOrder = None,
    limit: Limit = 1000,
) -> dict[str, Any]:
    """Return what the online detector decided on each commit, and the model it used.

    With a second look, `steps` list what was decided when the commit arrived. With `changes_only`
    a page may hold fewer rows than its limit and still have a next one.
    """
    points, following = _page(connection, number, from_order, limit, reruns=False)
    rows = _decisions(connection, number, points) if points else []
    if changes_only:
        rows = [row for row in rows if row["is_change"] or row["steps"] or row["current_state"]]
    return {"decisions": rows, "next": following}


@routes.get(
    f"{PLACE}/reasons", response_model=answer("FeatureReasons", reasons=REASONS), responses=CONFLICT
)
def get_reasons(context: Context, number: Number, order: Order) -> dict[str, Any]:
    """Explain the decision on a commit, as long as the model that made it is loaded.

    They explain the probability that the commit had when it was the newest.
    """
    model, version = context.model.model, context.model.judge.version
    try:
        with context.store.read() as connection:
            reasons = reading.explained(connection, model, version, number, order)
    except OtherModelError as error:
        raise ApiError(409, str(error)) from error
    return {"reasons": reasons}


@routes.get(f"{PLACE}/revisions", response_model=page_of("revisions", REVISION))
def get_revisions(
    connection: Connection,
    number: Number,
    order: Order,
    run: Label = "",
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return every value that was sent for a point, the current one first."""
    rows = reading.revisions_of(connection, number, order, run, after=after, limit=limit)
    return {"revisions": rows, "next": after + limit if len(rows) == limit else None}


@routes.get(f"{SERIES_PLACE}/chart", response_model=CHART)
def get_chart(connection: Connection, number: Number) -> Any:
    """Return all results of a series with its levels, change points and tickets."""
    # A series may have thousands of results: they are written as they are, not checked again.
    return Response(chart_json(series_chart(connection, number)), media_type="application/json")


def chart_json(chart: SeriesChart) -> bytes:
    """Return the chart of a series as JSON."""
    fields = {name: getattr(chart, name) for name in CHART.model_fields}
    series = SERIES.model_validate(chart.series, from_attributes=True)
    return msgspec.json.encode(fields | {"series": series.model_dump()})


def _decisions(
    connection: Connection, number: int, points: list[StoredPoint]
) -> list[dict[str, Any]]:
    """Return the decisions on points with the steps of the second look."""
    span = points[0].order, points[-1].order
    steps = reading.steps_between(connection, number, *span)
    states = reading.current_states(connection, number, *span)
    return [
        {
            **{name: getattr(point, name) for name in ("order", "model", "threshold")},
            **{name: getattr(point.decision, name) for name in DECISION},
            "current_state": states.get(point.order),
            "steps": [
                step_fields(step) | {"model": model}
                for step, model in filter(None, [steps.get(point.order)])
            ],
        }
        for point in points
    ]


def step_fields(step: AlarmStep) -> dict[str, Any]:
    """Return the fields of a step of the second look, whose places are orders of commits."""
    return {
        "kind": step.kind.value,
        "order": step.index,
        "probability": step.probability,
        "from_order": step.moved_from,
    }


def _page(
    connection: Connection, number: int, first: int | None, limit: int, *, reruns: bool = True
) -> tuple[list[StoredPoint], int | None]:
    """Return the points of whole commits, up to `limit`, and the order of the next page."""
    reading.get_series(connection, number)
    points = reading.points_of(connection, number, first=first, limit=limit + 1, reruns=reruns)
    if len(points) <= limit:
        return points, None
    last = points[-1].order
    if whole := [point for point in points if point.order < last]:
        return whole, last
    # A commit with more runs than the limit is not cut either.
    runs = reading.points_of(connection, number, first=last, last=last, limit=LIMITS.runs)
    return runs, last + 1


@page_routes.get("/series")
def get_list_page(
    context: Context,
    connection: Connection,
    request: Request,
    q: Annotated[Text, Query(max_length=500)] = "",
    project: Label | None = None,
    after: After = 0,
) -> Response:
    """Answer the series that contain all words of a search."""
    chosen = None if project == EVERY else project
    matches = search_series(connection, q, project=chosen, after=after, limit=PAGE + 1)
    shown, search = matches[:PAGE], {"q": q or None, "project": chosen}
    listed, model = [match.series.id for match in shown], context.watch.current
    return render(
        request,
        "series_list.html",
        active="series",
        matches=[(match, *names(match.series.name)) for match in shown],
        noise=context.noise.of(connection, model.judge, listed) if model else {},
        projects=reading.projects(connection),
        project=chosen,
        every=EVERY,
        q=q,
        following=_query(**search, after=shown[-1].series.id) if len(matches) > PAGE else "",
        first=_query(**search) if after else "",
    )


@page_routes.get("/series/{number}")
def get_series_page(
    connection: Connection,
    request: Request,
    number: Number,
    from_: Annotated[Order | None, Query(alias="from")] = None,  # noqa: ARG001
    to: Order | None = None,  # noqa: ARG001
    axis: Literal["commits", "time"] = "commits",
    scale: Literal["fit", "zero", "log"] = "fit",
    change_point: Number | None = None,
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
        unit=wording.unit_text(chart.series.unit),
        data=htmlsafe_json_dumps(chart, dumps=lambda chart: chart_json(chart).decode()),
        summary=summary(chart),
        slow=[_slow_text(chart, change) for change in chart.slow],
        focus=focus(chart, change_point),
        can_log=all(value > 0 for value in chart.values),
        axis=axis,
        scale=scale,
        shown=ROWS,
    )


def focus(chart: SeriesChart, candidate: int | None) -> Mark | None:
    """Return the change point that a page is about.

    That is the requested one, else the newest that is open, else the newest.
    """
    real = [mark for mark in chart.marks if mark.state is not MarkState.MOVED]
    open_ = [mark for mark in real if mark.state is MarkState.UNPROCESSED]
    chosen = [mark for mark in real if mark.id == candidate] or open_ or real
    return chosen[-1] if chosen else None


def summary(chart: SeriesChart) -> str:
    """Return the chart in words, for those who do not see it."""
    shown = [mark for mark in chart.marks if mark.state is not MarkState.MOVED]
    parts = [f"Chart of {wording.plural(len(chart.values), 'result')}.", "No change points."]
    if shown:
        parts[1] = f"{wording.plural(len(shown), 'change point')}, the newest first:"
        parts += [f"{_in_words(mark)}." for mark in reversed(shown[-5:])]
    parts.append("Left and right read results, brackets jump between change points.")
    return wording.printable(" ".join(parts))


def _slow_text(chart: SeriesChart, change: SlowChange) -> tuple[str, str]:
    """Return what changed without a step, and from which result to which."""
    size = wording.typeset(wording.change_text(change.percent))
    text = f"Drift of {size}" if change.kind == "drift" else f"Noise changed by {size}"
    first, last = (
        wording.place_text(chart.commits[k], chart.orders[k])
        for k in (change.begin, change.end - 1)
    )
    return text, f"since {first}" if change.end == len(chart.values) else f"{first} to {last}"


def _in_words(mark: Mark) -> str:
    size = real = ""
    if mark.before is not None and mark.after is not None:
        size = wording.typeset(wording.change_text(Size(mark.before, mark.after).percent))
    if mark.probability is not None:
        real = f"{wording.probability_text(mark.probability)} real"
    state = "to decide" if mark.state is MarkState.UNPROCESSED else mark.state.value
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
