"""Clusters: steps that many series of a project have in common."""

from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Body, Path, Query
from pydantic import BeforeValidator

from barograph.detection.stepfit import Status
from barograph.server.store import reading
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage import clusters
from barograph.server.web.context import CallerName, Context, guarded_router
from barograph.server.web.responses import next_cursor
from barograph.server.web.routes.series import SERIES, After, Label, Limit
from barograph.server.web.schemas import page_of, schema_of

Number = Annotated[int, Path(ge=1, le=INTEGER, description="Id of the cluster.")]
CLUSTER = schema_of(
    clusters.Cluster,
    without=("cluster",),
    size=("cluster.members", Annotated[int, BeforeValidator(len)]),
    **{name: f"cluster.{name}" for name in ("step", "fit", "regression", "status", "current")},
)

routes = guarded_router(Scope.READ, "clusters")
statuses = guarded_router(Scope.TRIAGE, "clusters")


@routes.get(
    "/api/v1/clusters",
    response_model=page_of("clusters", CLUSTER),
    summary="Clusters of common steps",
)
def get_clusters(
    context: Context,
    project: Label = None,
    include_past: Annotated[
        bool, Query(description="Include clusters that the latest run did not find.")
    ] = False,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return the clusters of all projects, or of one."""
    current = None if include_past else True
    with context.store.read() as connection:
        rows = clusters.find(connection, project=project, current=current, after=after, limit=limit)
    return {"clusters": rows, "next": next_cursor(rows, limit)}


@routes.get("/api/v1/clusters/{number}", response_model=CLUSTER, summary="Get a cluster")
def get_cluster(context: Context, number: Number) -> Any:
    """Return one cluster."""
    with context.store.read() as connection:
        return clusters.get(connection, number)


@routes.get(
    "/api/v1/clusters/{number}/members",
    response_model=page_of("series", SERIES),
    summary="Series of a cluster",
)
def get_members(
    context: Context, number: Number, after: After = 0, limit: Limit = 100
) -> dict[str, Any]:
    """Return the series that take the step, most similar first."""
    with context.store.read() as connection:
        members = clusters.get(connection, number).cluster.members
        page = members[after : after + limit]
        rows = [reading.get_series(connection, int(str(member))) for member in page]
    end = after + len(rows)
    return {"series": rows, "next": end if end < len(members) else None}


@statuses.post(
    "/api/v1/clusters/{number}/status",
    response_model=CLUSTER,
    summary="Set the status of a cluster",
)
def post_status(
    context: Context,
    number: Number,
    caller: CallerName,
    status: Annotated[Status, Body(embed=True)],
) -> Any:
    """Set the status of a cluster; it stays when the cluster is found again."""

    def work(connection: sa.Connection) -> clusters.Cluster:
        clusters.set_status(connection, number, status, caller)
        return clusters.get(connection, number)

    return context.store.write(work)
