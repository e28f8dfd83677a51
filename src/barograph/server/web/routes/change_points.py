"""Change points, and what helps to decide on them: suspects, siblings, reasons, history."""

from typing import Annotated, Any

from fastapi import Path, Query

from barograph.results.series import Verdict
from barograph.server.store import reading
from barograph.server.store.candidate_records import (
    CandidateRecord,
    find_candidates,
    get_candidate,
)
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage.explanations import CandidateExplanation, explanation
from barograph.server.triage.record import Effectiveness, effectiveness
from barograph.server.triage.siblings import Sibling, Siblings, siblings
from barograph.server.triage.similar_cases import DecidedCase
from barograph.server.triage.suspects import SuspectRange, suspects
from barograph.server.triage.timeline import CandidateEvent, timeline
from barograph.server.web.context import Context, guarded_router
from barograph.server.web.responses import next_cursor
from barograph.server.web.routes.series import (
    SERIES,
    SERIES_LABELS,
    After,
    Label,
    Limit,
    SeriesNumber,
)
from barograph.server.web.schemas import answer, many, page_of, schema_of

PLACE = "/api/v1/change-points/{number}"
Number = Annotated[int, Path(ge=1, le=INTEGER, description="Id of the change point.")]
IncludeWithdrawn = Annotated[
    bool,
    Query(
        description="Include change points without a verdict that the latest refresh did not find."
    ),
]
FoundSince = Annotated[
    int | None,
    Query(
        ge=0,
        le=INTEGER,
        description="Only those first found since then, in milliseconds since 1970.",
    ),
]
SIZE = {name: f"effect.{name}" for name in ("before", "after", "percent")}
CHANGE_POINT = schema_of(CandidateRecord, without=("nearby",))
CHANGE_POINTS = page_of("change_points", CHANGE_POINT)
SIBLING = schema_of(
    Sibling,
    without=("candidate",),
    series=SERIES,
    **SIZE,
    count_after="effect.count_after",
    effect="word",
    change_point="candidate",
)
SIBLINGS = schema_of(Siblings, siblings=many(SIBLING))
CASE = schema_of(DecidedCase, without=("candidate",), **SERIES_LABELS, change_point="candidate")

routes = guarded_router(Scope.READ, "change points")


@routes.get(
    "/api/v1/change-points",
    response_model=CHANGE_POINTS,
    summary="Change points of all series",
)
def get_change_points(
    context: Context,
    project: Label = None,
    verdict: Annotated[Verdict | None, Query(description="The current verdict.")] = None,
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
    response_model=schema_of(Effectiveness),
    summary="What became of the change points",
)
def get_effectiveness(
    context: Context, project: Label = None, found_since: FoundSince = None
) -> Any:
    """Count change points, their commits and tickets, and verdicts that do not fit them."""
    with context.store.read() as connection:
        return effectiveness(connection, since=found_since, project=project)


@routes.get(
    "/api/v1/series/{number}/change-points",
    response_model=CHANGE_POINTS,
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


@routes.get(PLACE, response_model=CHANGE_POINT, summary="Get a change point")
def get_change_point(context: Context, number: Number) -> Any:
    """Return one change point."""
    with context.store.read() as connection:
        return get_candidate(connection, number)


@routes.get(
    f"{PLACE}/suspects",
    response_model=schema_of(SuspectRange),
    summary="Commits that may have caused a change",
)
def get_suspects(context: Context, number: Number) -> Any:
    """Return the suspect commits, what siblings say about them, and which to run next."""
    with context.store.read() as connection:
        return suspects(connection, number)


@routes.get(f"{PLACE}/siblings", response_model=SIBLINGS, summary="The same test in other variants")
def get_siblings(context: Context, number: Number) -> Any:
    """Return what the other variants of the test did at the same commit."""
    with context.store.read() as connection:
        return siblings(connection, number)


@routes.get(
    f"{PLACE}/reasons",
    response_model=schema_of(CandidateExplanation),
    summary="Reasons for a probability",
)
def get_reasons(context: Context, number: Number) -> Any:
    """Return why the model gives a change point its probability, in sentences."""
    with context.store.read() as connection:
        return explanation(
            connection, number, context.candidate_model.newest(), siblings(connection, number)
        )


@routes.get(
    f"{PLACE}/alike",
    response_model=answer("AlikeCases", cases=many(CASE)),
    summary="Decided change points that are alike",
)
def get_alike(
    context: Context,
    number: Number,
    limit: Annotated[int, Query(ge=1, le=20, description="Number of cases.")] = 3,
) -> dict[str, Any]:
    """Return the nearest change points that people have called real or noise in this store."""
    model = context.candidate_model.newest()
    if model is None:
        return {"cases": []}
    with context.store.read() as connection:
        return {"cases": context.decided_cases.nearest(connection, number, model, limit)}


@routes.get(
    f"{PLACE}/history",
    response_model=answer("CandidateHistory", events=many(schema_of(CandidateEvent))),
    summary="History of a change point",
)
def get_history(context: Context, number: Number) -> dict[str, Any]:
    """Return what happened to a change point, in the order of time."""
    with context.store.read() as connection:
        return {"events": timeline(connection, number)}
