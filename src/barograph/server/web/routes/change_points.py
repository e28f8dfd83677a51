"""Change points, what helps to decide on them, and clusters: steps that series have in common."""

from typing import Annotated, Any

from fastapi import Body, Query
from pydantic import BeforeValidator

from barograph.detection.stepfit import Status
from barograph.results.series import Verdict
from barograph.server.store import reading
from barograph.server.store.candidate_records import CandidateRecord, find_candidates, get_candidate
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage import clusters
from barograph.server.triage.explanations import CandidateExplanation, explanation
from barograph.server.triage.record import Effectiveness, effectiveness
from barograph.server.triage.siblings import Sibling, Siblings, siblings
from barograph.server.triage.similar_cases import DecidedCase
from barograph.server.triage.suspects import SuspectRange, suspects
from barograph.server.triage.timeline import CandidateEvent, timeline
from barograph.server.web.context import CallerName, Connection, Context, guarded_router
from barograph.server.web.responses import next_cursor
from barograph.server.web.routes.series import SERIES, SERIES_LABELS, After, Label, Limit, Number
from barograph.server.web.schemas import answer, many, page_of, schema_of

PLACE = "/api/v1/change-points/{number}"
CLUSTER_PLACE = "/api/v1/clusters/{number}"
Cases = Annotated[int, Query(ge=1, le=20)]
INCLUDE = "Include change points without a verdict that the latest refresh did not find."
IncludeWithdrawn = Annotated[bool, Query(description=INCLUDE)]
SINCE = "Only those first found since then, in milliseconds since 1970."
FoundSince = Annotated[int | None, Query(ge=0, le=INTEGER, description=SINCE)]
PAST = "Include clusters that the latest run did not find."
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
CLUSTER = schema_of(
    clusters.Cluster,
    without=("cluster",),
    size=("cluster.members", Annotated[int, BeforeValidator(len)]),
    **{name: f"cluster.{name}" for name in ("step", "fit", "regression", "status", "current")},
)
CASE = schema_of(DecidedCase, without=("candidate",), **SERIES_LABELS, change_point="candidate")
HISTORY = answer("CandidateHistory", events=many(schema_of(CandidateEvent)))

routes = guarded_router(Scope.READ, "change points")
cluster_routes = guarded_router(Scope.READ, "clusters")
statuses = guarded_router(Scope.TRIAGE, "clusters")


@routes.get("/api/v1/change-points", response_model=CHANGE_POINTS)
def get_change_points(
    connection: Connection,
    project: Label | None = None,
    verdict: Annotated[Verdict | None, Query(description="The current verdict.")] = None,
    include_withdrawn: IncludeWithdrawn = False,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return change points; `verdict=not_triaged` is the queue of those to be triaged."""
    rows = find_candidates(
        connection,
        project=project,
        verdict=verdict,
        withdrawn=include_withdrawn,
        after=after,
        limit=limit,
    )
    return {"change_points": rows, "next": next_cursor(rows, limit)}


@routes.get("/api/v1/change-points/effectiveness", response_model=schema_of(Effectiveness))
def get_effectiveness(
    connection: Connection, project: Label | None = None, found_since: FoundSince = None
) -> Any:
    """Count change points, their commits and tickets, and verdicts that do not fit them."""
    return effectiveness(connection, since=found_since, project=project)


@routes.get("/api/v1/series/{number}/change-points", response_model=CHANGE_POINTS)
def get_change_points_of_series(
    connection: Connection,
    number: Number,
    include_withdrawn: IncludeWithdrawn = False,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return the change points of one series."""
    reading.get_series(connection, number)
    rows = find_candidates(
        connection, number=number, withdrawn=include_withdrawn, after=after, limit=limit
    )
    return {"change_points": rows, "next": next_cursor(rows, limit)}


@routes.get(PLACE, response_model=CHANGE_POINT)
def get_change_point(connection: Connection, number: Number) -> Any:
    """Return one change point."""
    return get_candidate(connection, number)


@routes.get(f"{PLACE}/suspects", response_model=schema_of(SuspectRange))
def get_suspects(connection: Connection, number: Number) -> Any:
    """Return the suspect commits, what siblings say about them, and which to run next."""
    return suspects(connection, number)


@routes.get(f"{PLACE}/siblings", response_model=schema_of(Siblings, siblings=many(SIBLING)))
def get_siblings(connection: Connection, number: Number) -> Any:
    """Return what the other variants of the test did at the same commit."""
    return siblings(connection, number)


@routes.get(f"{PLACE}/reasons", response_model=schema_of(CandidateExplanation))
def get_reasons(connection: Connection, context: Context, number: Number) -> Any:
    """Return why the model gives a change point its probability, in sentences."""
    model = context.candidate_model.newest()
    return explanation(connection, number, model, siblings(connection, number))


@routes.get(f"{PLACE}/alike", response_model=answer("AlikeCases", cases=many(CASE)))
def get_alike(
    connection: Connection,
    context: Context,
    number: Number,
    limit: Annotated[int, Query(ge=1, le=20)] = 3,
) -> dict[str, Any]:
    """Return the nearest change points that people have called real or noise in this store."""
    model = context.candidate_model.newest()
    cases = model and context.decided_cases.nearest(connection, number, model, limit)
    return {"cases": cases or []}


@routes.get(f"{PLACE}/history", response_model=HISTORY)
def get_history(connection: Connection, number: Number) -> dict[str, Any]:
    """Return what happened to a change point, in the order of time."""
    return {"events": timeline(connection, number)}


@cluster_routes.get("/api/v1/clusters", response_model=page_of("clusters", CLUSTER))
def get_clusters(
    connection: Connection,
    project: Label | None = None,
    include_past: Annotated[bool, Query(description=PAST)] = False,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return the clusters of all projects, or of one."""
    current = None if include_past else True
    rows = clusters.find(connection, project=project, current=current, after=after, limit=limit)
    return {"clusters": rows, "next": next_cursor(rows, limit)}


@cluster_routes.get(CLUSTER_PLACE, response_model=CLUSTER)
def get_cluster(connection: Connection, number: Number) -> Any:
    """Return one cluster."""
    return clusters.get(connection, number)


@cluster_routes.get(f"{CLUSTER_PLACE}/members", response_model=page_of("series", SERIES))
def get_members(
    connection: Connection, number: Number, after: After = 0, limit: Limit = 100
) -> dict[str, Any]:
    """Return the series that take the step, most similar first."""
    members = clusters.get(connection, number).cluster.members
    page = members[after : after + limit]
    rows = [reading.get_series(connection, int(str(member))) for member in page]
    end = after + len(rows)
    return {"series": rows, "next": end if end < len(members) else None}


@statuses.post(f"{CLUSTER_PLACE}/status", response_model=CLUSTER)
def post_status(
    connection: Connection,
    number: Number,
    caller: CallerName,
    status: Annotated[Status, Body(embed=True)],
) -> Any:
    """Set the status of a cluster; it stays when the cluster is found again."""
    clusters.set_status(connection, number, status, caller)
    return clusters.get(connection, number)
