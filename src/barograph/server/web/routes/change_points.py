"""Change points, and what became of them."""

from typing import Annotated, Any

from fastapi import Path, Query

from barograph.results.series import Region, Verdict
from barograph.server.store import reading
from barograph.server.store.candidate_records import find_candidates, get_candidate
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage.record import Effectiveness, effectiveness
from barograph.server.web.context import Context, guarded_router
from barograph.server.web.responses import Schema, field, next_cursor
from barograph.server.web.routes.series import After, Limit, ProjectFilter, SeriesNumber

Number = Annotated[int, Path(ge=1, le=INTEGER, description="Id of the change point.", examples=[3])]
CurrentVerdict = Annotated[
    Verdict | None, Query(description="The current verdict.", examples=["true_positive"])
]
IncludeWithdrawn = Annotated[
    bool,
    Query(
        description="Include change points without a verdict that the latest refresh did not find.",
        examples=[True],
    ),
]
FoundSince = Annotated[
    int | None,
    Query(
        ge=0,
        le=INTEGER,
        description="Only those first found since then, in milliseconds since 1970.",
        examples=[1704067200000],
    ),
]
REGION = {
    "count": 20,
    "min": 1.0,
    "max": 2.0,
    "median": 1.5,
    "mean": 1.5,
    "variance": 0.1,
    "level": 1.5,
}


class ChangePointResponse(Schema):
    """A change point that a detector found."""

    id: int = field(3)
    series: int = field(7)
    order: int = field(1024)
    commit: str = field("3f9a1c7")
    last_before: int | None = field(1020, "Order of the last result of the old level.")
    detector: str | None = field("Hunter")
    statistic: float | None = field(12.5)
    pvalue: float | None = field(0.0001)
    discovery: int | None = field(
        0, "Number in the order in which the detector divided the series, from 0."
    )
    q: float | None = field(84.1, "Energy statistic Q of E-Divisive or Hunter.")
    before: Region | None = field(REGION)
    after: Region | None = field(REGION)
    hazard: float | None = field(0.12, "Positive is worse if the direction is known.")
    trend: bool = field(False, "Whether the results beside it contradict each other.")
    probability: float | None = field(0.93)
    model: str | None = field("label_free-90aa31b7c2d4")
    verdict: Verdict = field("true_positive")
    version: int = field(1, "Number of verdicts so far.")
    present: bool = field(True, "Whether the latest refresh found it.")
    detected_on: int | None = field(1706220999000, "When it was first detected.")
    calculated_on: int | None = field(1706220999000)
    triaged_on: int | None = field(1706307399000)


class ChangePointsPage(Schema):
    """A page of change points; request the next page with `after` set to `next`."""

    change_points: list[ChangePointResponse]
    next: int | None = field(3)


class EffectivenessResponse(Schema):
    """What became of the change points, as in section 5.2 of Daly et al. 2020."""

    change_points: int = field(12321, "Found by the latest refresh, or judged.")
    commits: int = field(178, "Where they are.")
    commits_with_ticket: int = field(126)
    commits_processed: int = field(122, "Where one of them is real or noise.")
    tickets: int = field(79, "About any of them.")
    real: int = field(900)
    real_not_found: int = field(12, "No longer found.")
    real_without_ticket: int = field(40)
    noise: int = field(350)
    noise_with_ticket: int = field(3)
    noise_not_found: int = field(60, "No longer found.")


routes = guarded_router(Scope.READ, "change points")


@routes.get(
    "/api/v1/change-points",
    response_model=ChangePointsPage,
    summary="Change points of all series",
)
def get_change_points(
    context: Context,
    project: ProjectFilter = None,
    verdict: CurrentVerdict = None,
    include_withdrawn: IncludeWithdrawn = False,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return change points; `verdict=not_triaged` is the queue of those to be triaged."""
    with context.store.read() as connection:
        rows = find_candidates(
            connection,
            project=project,
            verdict=verdict,
            withdrawn=include_withdrawn,
            after=after,
            limit=limit,
        )
    return {"change_points": rows, "next": next_cursor(rows, limit)}


@routes.get(
    "/api/v1/change-points/effectiveness",
    response_model=EffectivenessResponse,
    summary="What became of the change points",
)
def get_effectiveness(
    context: Context, project: ProjectFilter = None, found_since: FoundSince = None
) -> Effectiveness:
    """Count change points, their commits and tickets, and verdicts that do not fit them."""
    with context.store.read() as connection:
        return effectiveness(connection, since=found_since, project=project)


@routes.get(
    "/api/v1/series/{number}/change-points",
    response_model=ChangePointsPage,
    summary="Change points of a series",
)
def get_change_points_of_series(
    context: Context,
    number: SeriesNumber,
    include_withdrawn: IncludeWithdrawn = False,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return the change points of one series."""
    with context.store.read() as connection:
        reading.get_series(connection, number)
        rows = find_candidates(
            connection, number=number, withdrawn=include_withdrawn, after=after, limit=limit
        )
    return {"change_points": rows, "next": next_cursor(rows, limit)}


@routes.get(
    "/api/v1/change-points/{number}",
    response_model=ChangePointResponse,
    summary="Get a change point",
)
def get_change_point(context: Context, number: Number) -> Any:
    """Return one change point."""
    with context.store.read() as connection:
        return get_candidate(connection, number)
