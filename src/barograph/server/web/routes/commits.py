"""Commits with changes, and everything that one commit changed, each with its page."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Body, Query, Request
from pydantic import Field
from starlette.responses import Response

from barograph.results import wording
from barograph.results.wording import BETTER, CHANGED, TREND, WORSE
from barograph.server.store import commit_details, reading
from barograph.server.store.commit_details import CommitDetails
from barograph.server.store.tokens import Scope
from barograph.server.triage import commits
from barograph.server.triage.commits import (
    CommitChanges,
    CommitSummary,
    ComparedSeries,
    commit_text,
)
from barograph.server.triage.effects import Trace, traces
from barograph.server.web.context import Connection, guarded_router
from barograph.server.web.pages.rendering import names, page_router, render, sparkline
from barograph.server.web.routes.change_points import CHANGE_POINT, SIZE
from barograph.server.web.routes.series import SERIES, Label, Number, Order
from barograph.server.web.routes.verdicts import TICKET
from barograph.server.web.schemas import Schema, answer, many, page_of, schema_of

BeforeOrder = Annotated[Order | None, Field(description="Lower orders; from `next`.")]
MOST_DESCRIBED = 1000  # commits in one request
PAGE = 50  # commits of a list
WIDTH, HEIGHT, DOT = 1000, 96, 7  # of the plot of effects, and the size of a dot in it
LEAST, MOST = 5.0, 100.0  # percent at the ends of the plot
HEADINGS = {WORSE: "Worse", BETTER: "Better", CHANGED: "Direction unknown", TREND: "Trend"}
CHANGED_SERIES = schema_of(
    ComparedSeries,
    "ChangedSeries",
    without=("change", "last_before"),
    series=SERIES,
    change_point=("change", CHANGE_POINT),
    effect="word",
    word="word",
    **SIZE,
)
COMMIT = schema_of(
    CommitChanges,
    changed=many(CHANGED_SERIES),
    quiet=many(answer("UnmovedSeries", series=int, percent=float)),
    tickets=many(TICKET),
    text=str,
)


class DescribedCommit(Schema):
    """The details by which people know a commit."""

    project: str = ""
    commit: str = Field(description="Its name, as in its results.")
    subject: str = Field("", description="The first line of its message.")
    author: str = ""
    url: str = Field("", description="Where it can be read; begins with `https://` or `http://`.")
    parent: str = Field("", description="Name of the commit before it; of a merge, the last one.")


Described = Annotated[
    list[DescribedCommit],
    Body(embed=True, alias="commits", min_length=1, max_length=MOST_DESCRIBED),
]
routes = guarded_router(Scope.READ, "commits")
sending = guarded_router(Scope.INGEST, "commits")
page_routes = page_router()


@routes.get("/api/v1/commits", response_model=page_of("commits", schema_of(CommitSummary)))
def get_commits(
    connection: Connection,
    project: Label,
    before: BeforeOrder = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> dict[str, Any]:
    """Return the commits of a project at which change points are."""
    rows = commits.commits_with_changes(connection, project, before=before, limit=limit)
    return {"commits": rows, "next": rows[-1].order if len(rows) == limit else None}


@sending.post("/api/v1/commits", response_model=answer("SavedCommits", saved=int))
def post_commits(connection: Connection, described: Described) -> dict[str, int]:
    """Save subjects, authors, addresses and parents of commits, before or after their results.

    A commit that is sent again is replaced; it keeps its parent if none is sent.
    """
    details = [CommitDetails(**commit.model_dump()) for commit in described]
    return {"saved": commit_details.save(connection, details)}


@routes.get("/api/v1/commit", response_model=COMMIT)
def get_commit(
    connection: Connection, request: Request, project: Label, order: Order
) -> dict[str, Any]:
    """Return what a commit changed, improvements too, and which series did not move."""
    changes = commits.commit_changes(connection, project, order)
    return {name: getattr(changes, name) for name in COMMIT.model_fields if name != "text"} | {
        "quiet": [
            {"series": quiet.series.id, "percent": quiet.effect.percent}
            for quiet in changes.quiet
            if quiet.effect.percent is not None
        ],
        "text": text_of(changes, request),
    }


def text_of(changes: CommitChanges, request: Request) -> str:
    """Return what a commit changed as text, with the address of its page."""
    query = urlencode({"project": changes.project, "order": changes.order})
    return commit_text(changes, f"{request.base_url}commit?{query}")


@page_routes.get("/commits")
def get_commits_page(
    connection: Connection,
    request: Request,
    project: Label | None = None,
    before: BeforeOrder = None,
) -> Response:
    """Answer the commits of a project at which change points are."""
    known = reading.projects(connection)
    chosen = (*known, "")[0] if project is None else project
    found = commits.commits_with_changes(connection, chosen, before=before, limit=PAGE + 1)
    return render(
        request,
        "commits.html",
        active="commits",
        projects=known,
        project=chosen,
        commits=found[:PAGE],
        is_later=before is not None,
        following=found[PAGE - 1].order if len(found) > PAGE else None,
    )


@page_routes.get("/commit")
def get_commit_page(
    connection: Connection,
    request: Request,
    project: Label,
    order: Order,
    change_point: Number | None = None,  # noqa: ARG001
) -> Response:
    """Answer everything that one commit changed, improvements too."""
    changes = commits.commit_changes(connection, project, order)
    numbers = [series.change.id for series in changes.changed if series.change is not None]
    plots = traces(connection, numbers)
    moved = {word: [_row(series, plots) for series in changes.of(word)] for word in HEADINGS}
    return render(
        request,
        "commit.html",
        active="commits",
        changes=changes,
        name=", ".join(map(wording.short_commit, changes.commits)) or wording.place_text("", order),
        groups=[(HEADINGS[word], word, rows) for word, rows in moved.items() if rows],
        counts={word: len(rows) for word, rows in moved.items()},
        plot=dot_plot(changes),
        text=text_of(changes, request),
    )


def dot_plot(changes: CommitChanges) -> dict[str, Any]:
    """Return the dots of all effects as paths by word, with the ticks of their axis.

    Worse is on the left; dots beyond the ends stand at them. Series that changed stand at the
    bottom, where they are seen.
    """
    moved = [(series.word, series.word, series.effect) for series in changes.changed]
    quiet = [("same", series.word, series.effect) for series in changes.quiet]
    known = [
        (name, _signed(effect.percent, word))
        for name, word, effect in (*moved, *quiet)
        if effect.percent is not None
    ]
    end = _round_end(max((abs(size) for _, size in known), default=LEAST))
    columns = [
        round((min(max(size / end, -1.0), 1.0) + 1.0) / 2.0 * (WIDTH / DOT - 2)) + 1
        for _, size in known
    ]
    step = min(DOT, (HEIGHT - DOT) / max(Counter(columns).values(), default=1))
    heights: Counter[int] = Counter()
    paths: defaultdict[str, str] = defaultdict(str)
    for (name, _), column in zip(known, columns, strict=True):
        paths[name] += f"M{column * DOT} {HEIGHT - 4 - heights[column] * step:.1f}h0"
        heights[column] += 1
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "paths": dict(paths),
        "ticks": [
            wording.typeset(f"{end * half / 2:+g} %") if half else "0 %" for half in range(-2, 3)
        ],
        "count": len(known),
    }


def _signed(percent: float, word: str) -> float:
    """Return a change so that worse is negative; as it is unless it is better or worse."""
    if word in (CHANGED, TREND):
        return percent
    return math.copysign(percent, 1 if word == BETTER else -1)


def _round_end(most: float) -> float:
    """Return a round number at or above the largest change."""
    largest = min(max(most, LEAST), MOST)
    unit = 10.0 ** math.floor(math.log10(largest))
    return next(unit * m for m in (1.0, 2.0, 4.0, 5.0, 10.0) if unit * m >= largest * 0.999)


def _row(moved: ComparedSeries, plots: Mapping[int, Trace]) -> dict[str, Any]:
    name, rest = names(moved.series.name)
    spark = sparkline(plots.get(moved.change.id)) if moved.change is not None else None
    return {"moved": moved, "change": moved.change, "name": name, "rest": rest, "spark": spark}
