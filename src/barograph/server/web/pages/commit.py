"""Commits with changes, and the page of one commit: everything that it changed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Query, Request
from starlette.responses import Response

from barograph.results.wording import (
    BETTER,
    CHANGED,
    TREND,
    WORSE,
    place_text,
    short_commit,
    typeset,
)
from barograph.server.store import reading
from barograph.server.store.measurement import INTEGER
from barograph.server.triage.commits import (
    CommitChanges,
    ComparedSeries,
    commit_changes,
    commits_with_changes,
)
from barograph.server.triage.effects import Trace, traces
from barograph.server.web.pages.rendering import page_router, render, sparkline
from barograph.server.web.pages.series import names
from barograph.server.web.routes.commits import BeforeOrder, CommitOrder, ProjectName, text_of
from barograph.server.web.routes.series import Label

PAGE = 50  # commits of a list
WIDTH, HEIGHT, DOT = 1000, 96, 7  # of the plot of effects, and the size of a dot in it
LEAST, MOST = 5.0, 100.0  # percent at the ends of the plot
HEADINGS = {WORSE: "Worse", BETTER: "Better", CHANGED: "Direction unknown", TREND: "Trend"}

routes = page_router()


@routes.get("/commits")
def get_list(
    connection: sa.Connection,
    request: Request,
    project: Label = None,
    before: BeforeOrder = None,
) -> Response:
    """Answer the commits of a project at which change points are."""
    known = reading.projects(connection)
    chosen = (*known, "")[0] if project is None else project
    commits = commits_with_changes(connection, chosen, before=before, limit=PAGE + 1)
    return render(
        request,
        "commits.html",
        active="commits",
        projects=known,
        project=chosen,
        commits=commits[:PAGE],
        is_later=before is not None,
        following=commits[PAGE - 1].order if len(commits) > PAGE else None,
    )


@routes.get("/commit")
def get_page(
    connection: sa.Connection,
    request: Request,
    project: ProjectName,
    order: CommitOrder,
    change_point: Annotated[int | None, Query(ge=1, le=INTEGER)] = None,  # noqa: ARG001
) -> Response:
    """Answer everything that one commit changed, improvements too."""
    changes = commit_changes(connection, project, order)
    moved = [series.change.id for series in changes.changed if series.change is not None]
    plots = traces(connection, moved)
    name = ", ".join(map(short_commit, changes.commits)) or place_text("", order)
    return render(
        request,
        "commit.html",
        active="commits",
        changes=changes,
        name=name,
        groups=[
            (HEADINGS[word], word, [_row(moved, plots) for moved in changes.of(word)])
            for word in HEADINGS
            if changes.of(word)
        ],
        counts={word: len(changes.of(word)) for word in HEADINGS},
        plot=dot_plot(changes),
        text=text_of(changes, request),
    )


def dot_plot(changes: CommitChanges) -> dict[str, Any]:
    """Return the dots of all effects as paths by word, with the ticks of their axis.

    Worse is on the left; dots beyond the ends stand at them.
    """
    shown: list[tuple[str, ComparedSeries]] = [(moved.word, moved) for moved in changes.changed]
    shown += [("same", series) for series in changes.quiet]
    known = [
        (word, _signed(series.effect.percent, series.word))
        for word, series in shown
        if series.effect.percent is not None
    ]
    end = _round_end(max((abs(size) for _, size in known), default=LEAST))
    heights: Counter[int] = Counter()
    columns: list[tuple[str, int, int]] = []
    # Those that changed stand at the bottom, where they are seen.
    for word, size in known:
        column = round((min(max(size / end, -1.0), 1.0) + 1.0) / 2.0 * (WIDTH / DOT - 2)) + 1
        columns.append((word, column, heights[column]))
        heights[column] += 1
    step = min(DOT, (HEIGHT - DOT) / max(heights.values(), default=1))
    paths: dict[str, list[str]] = {}
    for word, column, level in columns:
        paths.setdefault(word, []).append(f"M{column * DOT} {HEIGHT - 4 - level * step:.1f}h0")
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "paths": {word: "".join(parts) for word, parts in paths.items()},
        "ticks": [typeset(f"{end * half / 2:+g} %") if half else "0 %" for half in range(-2, 3)],
        "count": len(known),
    }


def _signed(percent: float, word: str) -> float:
    """Return a change so that worse is negative; as it is unless it is better or worse."""
    return (
        percent if word in (CHANGED, TREND) else math.copysign(percent, 1 if word == BETTER else -1)
    )


def _round_end(most: float) -> float:
    """Return a round number at or above the largest change."""
    largest = min(max(most, LEAST), MOST)
    unit = 10.0 ** math.floor(math.log10(largest))
    return next(unit * m for m in (1.0, 2.0, 4.0, 5.0, 10.0) if unit * m >= largest * 0.999)


def _row(moved: ComparedSeries, plots: Mapping[int, Trace]) -> dict[str, Any]:
    name, rest = names(moved.series.name)
    spark = sparkline(plots.get(moved.change.id)) if moved.change is not None else None
    return {"moved": moved, "change": moved.change, "name": name, "rest": rest, "spark": spark}
