"""Series, their points, and what was decided of them."""

from collections.abc import Iterable
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Path, Query, Request

from barograph.series import LABELS
from barograph.service.access import Reading, router
from barograph.service.answers import Json
from barograph.service.asking import asked, following, known
from barograph.service.errors import Refused
from barograph.service.schemas.series import SERIES, DecisionsPage, PointsPage, SeriesPage
from barograph.service.schemas.series import Series as SeriesAnswer
from barograph.service.schemas.shared import ERRORS
from barograph.store import queries
from barograph.store.measurement import CONTROL
from barograph.store.results import StepRecord
from barograph.store.steps import current_states, steps_of

Steps = dict[tuple[int, str], tuple[StepRecord, str]]
LARGEST = 2**62
RUNS = 1_000_000  # of one commit: more than a series may have points
POINT = (
    "order",
    "run",
    "commit",
    "time",
    "value",
    "probability",
    "is_change",
    "baseline_size",
    "model",
)
DECISION = ("order", "run", "probability", "is_change", "baseline_size", "model", "threshold")
Number = Annotated[
    int, Path(ge=1, le=LARGEST, description="The number of the series.", examples=[7])
]
Limit = Annotated[int, Query(ge=1, le=10_000, description="Rows of the page.", examples=[100])]
Project = Annotated[str | None, Query(max_length=2000, examples=[SERIES["project"]])]
Variant = Annotated[str | None, Query(max_length=2000, examples=[SERIES["variant"]])]
Task = Annotated[str | None, Query(max_length=2000, examples=[SERIES["task"]])]
Test = Annotated[str | None, Query(max_length=2000, examples=[SERIES["test"]])]
Measurement = Annotated[str | None, Query(max_length=2000, examples=[SERIES["measurement"]])]
After = Annotated[int, Query(ge=0, le=LARGEST, description="From `next`.", examples=[100])]
Order = Annotated[
    int,
    Path(
        ge=-LARGEST,
        le=LARGEST,
        description="The place of the commit in its project.",
        examples=[1024],
    ),
]
Run = Annotated[
    str, Query(max_length=2000, description="Tells results of one commit apart.", examples=["2"])
]
First = Annotated[
    int | None, Query(ge=-LARGEST, le=LARGEST, description="Or from `next`.", examples=[1024])
]
routes = router(Reading, "series")


@routes.get("/api/v1/series", response_model=SeriesPage, responses=ERRORS, summary="Find series")
async def get_series(
    request: Request,
    project: Project = None,
    variant: Variant = None,
    task: Task = None,
    test: Test = None,
    measurement: Measurement = None,
    after: After = 0,
    limit: Limit = 100,
) -> Json:
    """Return the series that bear all the labels given."""
    given = zip(LABELS, (project, variant, task, test, measurement), strict=True)
    labels = {name: text for name, text in given if text is not None}
    storable(labels.values())
    found = await asked(
        request, lambda c: queries.find_series(c, after=after, limit=limit, **labels)
    )
    rows = [described(one) for one in found]
    return Json({"series": rows, "next": following(found, limit)})


@routes.get(
    "/api/v1/series/{number}", response_model=SeriesAnswer, responses=ERRORS, summary="One series"
)
async def get_one(request: Request, number: Number) -> Json:
    """Return one series."""
    return Json(described(await asked(request, lambda c: existing(c, number))))


@routes.get(
    "/api/v1/series/{number}/points",
    response_model=PointsPage,
    responses=ERRORS,
    summary="Points of a series",
)
async def get_points(
    request: Request, number: Number, first: First = None, limit: Limit = 1000
) -> Json:
    """Return the points from the order `first` on, each with the decision on it."""
    found, begins = await asked(request, lambda c: _page(c, number, first, limit))
    rows = [{name: getattr(one, name) for name in POINT} for one in found]
    return Json({"points": rows, "next": begins})


@routes.get(
    "/api/v1/series/{number}/decisions",
    response_model=DecisionsPage,
    responses=ERRORS,
    summary="Decisions on a series",
)
async def get_decisions(
    request: Request,
    number: Number,
    changes: Annotated[
        bool, Query(description="Only those about a change.", examples=[True])
    ] = False,
    first: First = None,
    limit: Limit = 1000,
) -> Json:
    """Return what the online detector said of the points, and which model it asked.

    With a second look, `steps` tell what became certain as each point landed. With
    `changes` a page may hold fewer rows than its limit and yet have a next one.
    """
    every, begins = await asked(request, lambda c: _decided(c, number, first, limit))
    rows = [
        row
        for row in every
        if not changes or row["is_change"] or row["steps"] or row["current_state"]
    ]
    return Json({"decisions": rows, "next": begins})


def existing(connection: sa.Connection, number: int) -> queries.StoredSeries:
    """Return a series, or refuse the request."""
    with known():
        return queries.one_series(connection, number)


def storable(texts: Iterable[str]) -> None:
    """Refuse what no row can have, and no database likes to be asked for."""
    if any(map(CONTROL.search, texts)):
        raise Refused(422, "a label holds a control character")


def _decided(
    connection: sa.Connection, number: int, first: int | None, limit: int
) -> tuple[list[dict[str, Any]], int | None]:
    """Return a page of decisions with what a second look said, and where the next begins."""
    found, begins = _page(connection, number, first, limit)
    if not found:
        return [], begins
    span = found[0].order, found[-1].order
    steps, now = steps_of(connection, number, *span), current_states(connection, number, *span)
    rows = []
    for one in found:
        key = (one.order, one.run)
        taken = [{**step._asdict(), "model": model} for step, model in _at(steps, key)]
        said = {name: getattr(one, name) for name in DECISION}
        rows.append({**said, "current_state": now.get(key), "steps": taken})
    return rows, begins


def _at(steps: Steps, key: tuple[int, str]) -> list[tuple[StepRecord, str]]:
    return [steps[key]] if key in steps else []


def _page(
    connection: sa.Connection, number: int, first: int | None, limit: int
) -> tuple[list[queries.Measured], int | None]:
    """Return whole commits, `limit` points of them at most, and where the next page begins."""
    existing(connection, number)
    found = queries.points_of(connection, number, first=first, limit=limit + 1)
    if len(found) <= limit:
        return found, None
    last = found[-1].order
    whole = [one for one in found if one.order < last]
    if whole:
        return whole, last
    # One commit has more runs than a page: it is not cut either.
    runs = queries.points_of(connection, number, first=last, last=last, limit=RUNS)
    return runs, last + 1


def described(one: queries.StoredSeries) -> dict[str, Any]:
    """A series as answers tell of it."""
    labels = one.name.labels
    args, direction = dict(one.name.args), int(one.direction)
    return {"id": one.id, "name": str(one.name), **labels, "args": args, "direction": direction}
