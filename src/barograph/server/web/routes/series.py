"""Series, their points, and the decisions on them."""

from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Path, Query
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from barograph.results.series import LABELS, Direction
from barograph.results.texts import CONTROL
from barograph.server.store import reading
from barograph.server.store.measurement import INTEGER
from barograph.server.store.reading import current_states, steps_between
from barograph.server.store.reasons import OtherModelError, explained
from barograph.server.store.tokens import Scope
from barograph.server.web.context import Context, guarded_router
from barograph.server.web.responses import (
    ApiError,
    ErrorResponse,
    Schema,
    field,
    nested,
    next_cursor,
)
from barograph.server.web.routes.points import EXAMPLE as RESULT
from barograph.server.web.routes.points import LIMITS, MODEL_EXAMPLE


def _storable(text: str) -> str:
    if CONTROL.search(text):
        raise ValueError("holds a control character")
    return text


POINT = "/api/v1/series/{number}/points/{order}"
CONFLICT = {"model": ErrorResponse, "description": "The model that decided is no longer in use."}
Text = Annotated[str, AfterValidator(_storable)]  # as rows of the store can hold it
ProjectFilter = Annotated[Text | None, Query(max_length=2000, examples=[RESULT["project"]])]
VariantFilter = Annotated[Text | None, Query(max_length=2000, examples=[RESULT["variant"]])]
TaskFilter = Annotated[Text | None, Query(max_length=2000, examples=[RESULT["task"]])]
TestFilter = Annotated[Text | None, Query(max_length=2000, examples=[RESULT["test"]])]
MeasurementFilter = Annotated[Text | None, Query(max_length=2000, examples=[RESULT["measurement"]])]
Limit = Annotated[int, Query(ge=1, le=10_000, description="Rows of the page.", examples=[100])]
After = Annotated[int, Query(ge=0, le=INTEGER, description="From `next`.", examples=[100])]
FromOrder = Annotated[
    int | None,
    Query(ge=-INTEGER, le=INTEGER, description="First order; or from `next`.", examples=[1024]),
]
SeriesNumber = Annotated[int, Path(ge=1, le=INTEGER, description="Id of the series.", examples=[7])]
Order = Annotated[
    int,
    Path(
        ge=-INTEGER,
        le=INTEGER,
        description="Position of the commit in its project.",
        examples=[1024],
    ),
]
Run = Annotated[
    Text, Query(max_length=2000, description="Distinguishes results of one commit.", examples=["2"])
]


Name = Annotated[str, BeforeValidator(str)]  # of a series, from its identity


class SeriesLabels(Schema):
    """What a series is called."""

    model_config = ConfigDict(populate_by_name=True)  # an answer can be read again

    name: Name = field(
        "sys-perf/linux-3-node/mixed_workloads/insert_vector/ops_per_sec thread_level=8"
    )
    project: str = nested("name.project", RESULT["project"])
    variant: str = nested("name.variant", RESULT["variant"])
    task: str = nested("name.task", RESULT["task"])
    test: str = nested("name.test", RESULT["test"])
    measurement: str = nested("name.measurement", RESULT["measurement"])
    args: Annotated[dict[str, str], BeforeValidator(dict)] = nested("name.args", RESULT["args"])


class SeriesResponse(SeriesLabels):
    """One benchmark measurement over commits."""

    id: int = field(7)
    direction: Direction = field(1)
    unit: str = field(RESULT["unit"], "Of the values; empty if unknown.")
    retired: int | None = field(1706220999000, "Since when it is no longer measured.")


class SeriesPage(Schema):
    """A page of series; request the next page with `after` set to `next`."""

    series: list[SeriesResponse]
    next: int | None = field(7)


class KnownSinceResponse(Schema):
    """Where a change begins that was reported at an earlier commit."""

    order: int = field(1024)
    commit: str = field("3f9a1c7")


class DecisionFields(Schema):
    """What points and decisions have in common."""

    order: int = field(1024)
    answer: Literal["change", "suspect", "quiet"] = nested(
        "decision.answer",
        "quiet",
        "`suspect`: so unusual that only a rerun can tell a spike from a change.",
    )
    is_change: bool = nested("decision.is_change", False, "Whether an alarm was raised.")
    probability: float = nested(
        "decision.probability",
        0.93,
        "Of the change that is raised or known, else of one at this commit.",
    )
    surprise: float = nested(
        "decision.surprise",
        0.0,
        "How far the value that counts departs from what was usual, in nats.",
    )
    reruns: int = nested("decision.reruns", 0, "Number of further runs that are advised.")
    known_since: KnownSinceResponse | None = nested(
        "decision.known_since",
        {"order": 1024, "commit": "3f9a1c7"},
        "The change near this commit that was reported earlier, if any.",
    )
    baseline_size: int = nested("decision.baseline_size", 57, "Number of commits compared with.")
    model: str = field(MODEL_EXAMPLE)


class PointResponse(DecisionFields):
    """One result and the decision on its commit."""

    run: str = field("")
    commit: str = field("3f9a1c7")
    time: int | None = field(1706220908000)
    value: float = field(18234.5, "What was measured.")
    settled: float | None = field(
        18234.5, "The value that counts for the commit; null if this is a rerun."
    )


class PointsPage(Schema):
    """Points, oldest first; request the next page with `from_order` set to `next`."""

    points: list[PointResponse]
    next: int | None = field(1025)


class StepResponse(Schema):
    """A step of the second look, and the model that took it."""

    kind: Literal["called", "confirmed", "moved", "withdrawn"] = field("moved")
    order: int = field(1024)
    probability: float = field(0.93)
    from_order: int | None = field(1025)
    model: str = field(MODEL_EXAMPLE)


class DecisionResponse(DecisionFields):
    """What the online detector decided on one commit."""

    threshold: float = field(
        6.1, "Least probability of a change; with a second look, least score in nats."
    )
    current_state: Literal["called", "confirmed", "moved", "withdrawn"] | None = field(
        "confirmed", "Latest step of the second look on a change that begins here."
    )
    steps: list[StepResponse] = Field(
        description="What the second look decided when the commit arrived."
    )


class DecisionsPage(Schema):
    """Decisions, oldest first; request the next page with `from_order` set to `next`."""

    decisions: list[DecisionResponse]
    next: int | None = field(1025)


class ReasonResponse(Schema):
    """A feature of the point, and what it added to the probability."""

    name: str = field("edge")
    value: float = field(6.2)
    contribution: float | None = nested("part", 0.41, "Null if the model cannot be explained.")


class ReasonsResponse(Schema):
    """Why a point was decided as it was, the most important feature first."""

    reasons: list[ReasonResponse] = Field(
        description="Empty for points with too few points before them."
    )


class RevisionResponse(Schema):
    """One value that was sent for a point."""

    value: float = field(18234.5)
    time: int | None = field(1706220908000)
    received: int = field(1706220999000)
    is_current: bool = nested("holds", True)


class RevisionsPage(Schema):
    """All values of a point, the current one first; request the next page with `after` = `next`."""

    revisions: list[RevisionResponse]
    next: int | None = field(1)


routes = guarded_router(Scope.READ, "series")


@routes.get("/api/v1/series", response_model=SeriesPage, summary="Find series")
def get_all_series(
    context: Context,
    project: ProjectFilter = None,
    variant: VariantFilter = None,
    task: TaskFilter = None,
    test: TestFilter = None,
    measurement: MeasurementFilter = None,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return the series that have all given labels."""
    texts = zip(LABELS, (project, variant, task, test, measurement), strict=True)
    labels = {name: text for name, text in texts if text is not None}
    with context.store.read() as connection:
        rows = reading.find_series(connection, after=after, limit=limit, **labels)
    return {"series": rows, "next": next_cursor(rows, limit)}


@routes.get("/api/v1/series/{number}", response_model=SeriesResponse, summary="Get a series")
def get_series(context: Context, number: SeriesNumber) -> Any:
    """Return one series."""
    with context.store.read() as connection:
        return reading.get_series(connection, number)


@routes.get(
    "/api/v1/series/{number}/points", response_model=PointsPage, summary="Points of a series"
)
def get_points(
    context: Context, number: SeriesNumber, from_order: FromOrder = None, limit: Limit = 1000
) -> dict[str, Any]:
    """Return all results of a series, each with the decision on its commit."""
    with context.store.read() as connection:
        points, following = _page(connection, number, from_order, limit)
    return {"points": points, "next": following}


@routes.get(
    "/api/v1/series/{number}/decisions",
    response_model=DecisionsPage,
    summary="Decisions on a series",
)
def get_decisions(
    context: Context,
    number: SeriesNumber,
    changes_only: Annotated[
        bool, Query(description="Only decisions about a change.", examples=[True])
    ] = False,
    from_order: FromOrder = None,
    limit: Limit = 1000,
) -> dict[str, Any]:
    """Return what the online detector decided on each commit, and the model it used.

    With a second look, `steps` list what was decided when the commit arrived. With `changes_only`
    a page may hold fewer rows than its limit and still have a next one.
    """
    with context.store.read() as connection:
        points, following = _page(connection, number, from_order, limit, reruns=False)
        rows = _decisions(connection, number, points) if points else []
    if changes_only:
        rows = [
            row
            for row in rows
            if row["decision"]["is_change"] or row["steps"] or row["current_state"]
        ]
    return {"decisions": rows, "next": following}


@routes.get(
    f"{POINT}/reasons",
    response_model=ReasonsResponse,
    responses={409: CONFLICT},
    summary="Reasons of a decision",
)
def get_reasons(context: Context, number: SeriesNumber, order: Order) -> dict[str, Any]:
    """Explain the decision on a commit; reasons are computed on first request and then kept.

    They explain the probability that the commit had when it was the newest.
    """
    loaded = context.model

    model, version = loaded.model, loaded.judge.version
    try:
        reasons = context.store.write(lambda c: explained(c, model, version, number, order))
    except OtherModelError as error:
        raise ApiError(409, str(error)) from error
    return {"reasons": reasons}


@routes.get(f"{POINT}/revisions", response_model=RevisionsPage, summary="All values of a point")
def get_revisions(
    context: Context,
    number: SeriesNumber,
    order: Order,
    run: Run = "",
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return every value that was sent for a point, the current one first."""
    with context.store.read() as connection:
        rows = reading.revisions_of(connection, number, order, run, after=after, limit=limit)
    return {"revisions": rows, "next": after + limit if len(rows) == limit else None}


def _decisions(
    connection: sa.Connection, number: int, points: list[reading.StoredPoint]
) -> list[dict[str, Any]]:
    """Return the decisions on points with the steps of the second look."""
    span = points[0].order, points[-1].order
    steps = steps_between(connection, number, *span)
    states = current_states(connection, number, *span)
    return [
        {
            **{name: getattr(point, name) for name in ("order", "model", "threshold")},
            "decision": point.decision._asdict() | {"is_change": point.decision.is_change},
            "current_state": states.get(point.order),
            "steps": [
                {
                    "kind": step.kind,
                    "order": step.index,
                    "probability": step.probability,
                    "from_order": step.moved_from,
                    "model": model,
                }
                for step, model in filter(None, [steps.get(point.order)])
            ],
        }
        for point in points
    ]


def _page(
    connection: sa.Connection, number: int, first: int | None, limit: int, *, reruns: bool = True
) -> tuple[list[reading.StoredPoint], int | None]:
    """Return the points of whole commits, up to `limit`, and the order of the next page."""
    reading.get_series(connection, number)
    points = reading.points_of(connection, number, first=first, limit=limit + 1, reruns=reruns)
    if len(points) <= limit:
        return points, None
    last = points[-1].order
    whole = [point for point in points if point.order < last]
    if whole:
        return whole, last
    # A commit with more runs than the limit is not cut either.
    runs = reading.points_of(connection, number, first=last, last=last, limit=LIMITS.runs)
    return runs, last + 1
