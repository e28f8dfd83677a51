"""Series, their points, and the decisions on them."""

from typing import Annotated, Any, Literal

import msgspec
import sqlalchemy as sa
from fastapi import Path, Query
from pydantic import AfterValidator, BeforeValidator, Field
from starlette.responses import Response

from barograph.detection.online import AlarmStep
from barograph.results.series import LABELS
from barograph.results.texts import CONTROL
from barograph.server.store import reading
from barograph.server.store.measurement import INTEGER, Limits
from barograph.server.store.reading import OtherModelError, Revision, StoredPoint, StoredSeries
from barograph.server.store.tokens import Scope
from barograph.server.triage.chart import SeriesChart, series_chart
from barograph.server.web.context import Context, guarded_router
from barograph.server.web.responses import CONFLICT, ApiError, next_cursor
from barograph.server.web.schemas import answer, many, page_of, schema_of


def _storable(text: str) -> str:
    if CONTROL.search(text):
        raise ValueError("holds a control character")
    return text


LIMITS = Limits()  # the defaults; a store with lower limits checks them itself
SERIES_PLACE = "/api/v1/series/{number}"
PLACE = f"{SERIES_PLACE}/points/{{order}}"
Text = Annotated[str, AfterValidator(_storable)]  # as rows of the store can hold it
Label = Annotated[Text | None, Query(max_length=2000)]
Limit = Annotated[int, Query(ge=1, le=10_000, description="Rows of the page.")]
After = Annotated[int, Query(ge=0, le=INTEGER, description="From `next`.")]
FromOrder = Annotated[
    int | None, Query(ge=-INTEGER, le=INTEGER, description="First order; or from `next`.")
]
SeriesNumber = Annotated[int, Path(ge=1, le=INTEGER, description="Id of the series.")]
Order = Annotated[
    int, Path(ge=-INTEGER, le=INTEGER, description="Position of the commit in its project.")
]
Run = Annotated[Text, Query(max_length=2000, description="Distinguishes results of one commit.")]
Step = Literal["called", "confirmed", "moved", "withdrawn"]
DECISION = {
    name: f"decision.{name}"
    for name in (
        *("answer", "is_change", "probability", "surprise"),
        *("reruns", "known_since", "baseline_size"),
    )
}
SERIES_LABELS: dict[str, Any] = {
    **{label: f"name.{label}" for label in LABELS},
    "args": ("name.args", Annotated[dict[str, str], BeforeValidator(dict)]),
}
SERIES = schema_of(StoredSeries, **SERIES_LABELS)
POINT = schema_of(StoredPoint, without=("decision", "reasons", "threshold"), **DECISION)
STEP = answer("SecondLookStep", kind=Step, order=int, probability=float, from_order=int | None)
SERIES_DECISION = schema_of(
    StoredPoint,
    "StoredDecision",
    without=("run", "commit", "time", "value", "settled", "decision", "reasons"),
    **DECISION,
    current_state=Step | None,
    steps=many(answer("StoredStep", **STEP.__annotations__, model=str)),
)
CONTRIBUTION = Annotated[float | None, Field(validation_alias="part")]
REASONS = many(answer("FeatureReason", name=str, value=float, contribution=CONTRIBUTION))
REVISION = schema_of(Revision, without=("holds",), is_current="holds")
CHART = schema_of(SeriesChart, series=SERIES, levels=list[tuple[int, int, float, bool]])

routes = guarded_router(Scope.READ, "series")


@routes.get("/api/v1/series", response_model=page_of("series", SERIES))
def get_all_series(
    connection: sa.Connection,
    project: Label = None,
    variant: Label = None,
    task: Label = None,
    test: Label = None,
    measurement: Label = None,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return the series that have all given labels."""
    texts = zip(LABELS, (project, variant, task, test, measurement), strict=True)
    labels = {name: text for name, text in texts if text is not None}
    rows = reading.find_series(connection, after=after, limit=limit, **labels)
    return {"series": rows, "next": next_cursor(rows, limit)}


@routes.get(SERIES_PLACE, response_model=SERIES)
def get_series(connection: sa.Connection, number: SeriesNumber) -> Any:
    """Return one series."""
    return reading.get_series(connection, number)


@routes.get(f"{SERIES_PLACE}/points", response_model=page_of("points", POINT))
def get_points(
    connection: sa.Connection,
    number: SeriesNumber,
    from_order: FromOrder = None,
    limit: Limit = 1000,
) -> dict[str, Any]:
    """Return all results of a series, each with the decision on its commit."""
    points, following = _page(connection, number, from_order, limit)
    return {"points": points, "next": following}


@routes.get(f"{SERIES_PLACE}/decisions", response_model=page_of("decisions", SERIES_DECISION))
def get_decisions(
    connection: sa.Connection,
    number: SeriesNumber,
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
def get_reasons(context: Context, number: SeriesNumber, order: Order) -> dict[str, Any]:
    """Explain the decision on a commit; reasons are computed on first request and then kept.

    They explain the probability that the commit had when it was the newest.
    """
    model, version = context.model.model, context.model.judge.version
    try:
        reasons = context.store.write(
            lambda connection: reading.explained(connection, model, version, number, order)
        )
    except OtherModelError as error:
        raise ApiError(409, str(error)) from error
    return {"reasons": reasons}


@routes.get(f"{PLACE}/revisions", response_model=page_of("revisions", REVISION))
def get_revisions(
    connection: sa.Connection,
    number: SeriesNumber,
    order: Order,
    run: Run = "",
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return every value that was sent for a point, the current one first."""
    rows = reading.revisions_of(connection, number, order, run, after=after, limit=limit)
    return {"revisions": rows, "next": after + limit if len(rows) == limit else None}


@routes.get(f"{SERIES_PLACE}/chart", response_model=CHART)
def get_chart(connection: sa.Connection, number: SeriesNumber) -> Any:
    """Return all results of a series with its levels, change points and tickets."""
    # A series may have thousands of results: they are written as they are, not checked again.
    return Response(chart_json(series_chart(connection, number)), media_type="application/json")


def chart_json(chart: SeriesChart) -> bytes:
    """Return the chart of a series as JSON."""
    fields = {name: getattr(chart, name) for name in CHART.model_fields}
    series = SERIES.model_validate(chart.series, from_attributes=True)
    return msgspec.json.encode(fields | {"series": series.model_dump()})


def _decisions(
    connection: sa.Connection, number: int, points: list[StoredPoint]
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
    connection: sa.Connection, number: int, first: int | None, limit: int, *, reruns: bool = True
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
