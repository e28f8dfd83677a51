"""Change points and the verdicts that people give on them."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

import sqlalchemy as sa
from fastapi import Path, Query
from pydantic import Field

from barograph.series import Region, Verdict
from barograph.service.context import CallerName, Context, guarded_router
from barograph.service.responses import ApiError, Schema, field, next_cursor, or_404
from barograph.service.routes.series import After, Limit, ProjectFilter, SeriesNumber
from barograph.service.routes.verdicts import RequestKey, VerdictEntryResponse, VerdictTexts
from barograph.store import reading
from barograph.store.candidate_records import find_candidates, get_candidate, moves_of
from barograph.store.measurement import INTEGER
from barograph.store.tokens import Scope
from barograph.triage import verdicts as judgements
from barograph.triage.record import Effectiveness, effectiveness
from barograph.triage.verdict_batches import RefusedVerdict, Why

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
REGION = {"count": 20, "min": 1.0, "max": 2.0, "median": 1.5, "mean": 1.5, "variance": 0.1}


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


class MoveResponse(Schema):
    """What happened to a change point after more data arrived."""

    kind: Literal["moved", "withdrawn", "returned"] = field(
        "moved", "Moved to another order, no longer found, or found again."
    )
    from_order: int = field(1020)
    to_order: int = field(1024)
    time: int = field(1706220999000)


class ChangePointDetail(ChangePointResponse):
    """A change point with its history."""

    moves: list[MoveResponse]
    verdicts: list[VerdictEntryResponse] = Field(description="The last one is current.")


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


class VerdictRequest(VerdictTexts):
    """A verdict on a change point."""

    version: int | None = Field(
        default=None,
        ge=0,
        le=INTEGER,
        description="Refused with 409 if there was a verdict since; null replaces any verdict.",
        examples=[0],
    )


routes = guarded_router(Scope.READ, "change points")
verdicts = guarded_router(Scope.TRIAGE, "change points")


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
        with or_404():
            reading.get_series(connection, number)
        rows = find_candidates(
            connection, number=number, withdrawn=include_withdrawn, after=after, limit=limit
        )
    return {"change_points": rows, "next": next_cursor(rows, limit)}


@routes.get(
    "/api/v1/change-points/{number}",
    response_model=ChangePointDetail,
    summary="Get a change point",
)
def get_change_point(context: Context, number: Number) -> dict[str, Any]:
    """Return one change point with its moves and its verdicts."""
    with context.store.read() as connection:
        return _detail(connection, number)


@verdicts.post(
    "/api/v1/change-points/{number}/verdict",
    response_model=ChangePointDetail,
    summary="Give a verdict",
)
def post_verdict(
    context: Context,
    number: Number,
    caller: CallerName,
    body: VerdictRequest,
    key: RequestKey = None,
) -> dict[str, Any]:
    """Record a verdict on a change point; earlier verdicts are kept as its history."""
    items = [(number, body.version)]

    def work(connection: sa.Connection) -> dict[str, Any]:
        _detail(connection, number)
        result = judgements.record_batch(
            connection, items, body.verdict, caller, body.note, body.reason, request=key
        )
        if result.refused:
            raise ApiError(409, _refusal(result.refused[0]))
        return _detail(connection, number)

    return context.store.write(work)


def _refusal(refused: RefusedVerdict) -> str:
    if refused.why is Why.WITHDRAWN:
        return f"the latest refresh did not find change point {refused.id}"
    assert refused.verdict is not None  # noqa: S101 - it was just read
    decision = f"{refused.verdict.word} by {refused.who}"
    return f"change point {refused.id} was decided meanwhile: {decision}"


def _detail(connection: sa.Connection, number: int) -> dict[str, Any]:
    with or_404():
        candidate = get_candidate(connection, number)
    moves = [move._asdict() for move in moves_of(connection, number)]
    entries = judgements.history(connection, candidate=number, limit=None)
    return {**asdict(candidate), "moves": moves, "verdicts": entries[::-1]}
