"""Clusters: steps that many series of a project have in common."""

from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Path, Query
from pydantic import BeforeValidator

from barograph.detection.stepfit import Status
from barograph.server.store import reading
from barograph.server.store.measurement import INTEGER
from barograph.server.store.tokens import Scope
from barograph.server.triage import clusters
from barograph.server.web.context import CallerName, Context, guarded_router
from barograph.server.web.responses import Schema, field, nested, next_cursor
from barograph.server.web.routes.series import After, Limit, ProjectFilter, SeriesResponse

IncludePast = Annotated[
    bool, Query(description="Include clusters that the latest run did not find.", examples=[True])
]
Number = Annotated[int, Path(ge=1, le=INTEGER, description="Id of the cluster.", examples=[4])]


class ClusterResponse(Schema):
    """A step that many series take at one commit."""

    id: int = field(4)
    project: str = field("sys-perf")
    order: int = field(1024, "Where the step is.")
    size: Annotated[int, BeforeValidator(len)] = nested("cluster.members", 31, "Number of series.")
    step: float = nested(
        "cluster.step", -1.8, "Height of the step in units of the noise of the mean."
    )
    fit: float = nested("cluster.fit", 0.02, "Error of the step function.")
    regression: float = nested(
        "cluster.regression", -90.0, "Step divided by fit; large values are clear steps."
    )
    status: Status = nested("cluster.status", "new", "Set by people.")
    current: bool = nested("cluster.current", True, "Whether the latest run found it.")


class ClustersPage(Schema):
    """A page of clusters; request the next page with `after` set to `next`."""

    clusters: list[ClusterResponse]
    next: int | None = field(4)


class ClusterMembersPage(Schema):
    """Series of a cluster, most similar first; request the next page with `after` = `next`."""

    series: list[SeriesResponse]
    next: int | None = field(1)


class ClusterStatusRequest(Schema):
    """The status that a person gives to a cluster."""

    status: Status = field("regression")


routes = guarded_router(Scope.READ, "clusters")
statuses = guarded_router(Scope.TRIAGE, "clusters")


@routes.get("/api/v1/clusters", response_model=ClustersPage, summary="Clusters of common steps")
def get_clusters(
    context: Context,
    project: ProjectFilter = None,
    include_past: IncludePast = False,
    after: After = 0,
    limit: Limit = 100,
) -> dict[str, Any]:
    """Return the clusters of all projects, or of one."""
    current = None if include_past else True
    with context.store.read() as connection:
        rows = clusters.find(connection, project=project, current=current, after=after, limit=limit)
    return {"clusters": rows, "next": next_cursor(rows, limit)}


@routes.get("/api/v1/clusters/{number}", response_model=ClusterResponse, summary="Get a cluster")
def get_cluster(context: Context, number: Number) -> Any:
    """Return one cluster."""
    with context.store.read() as connection:
        return clusters.get(connection, number)


@routes.get(
    "/api/v1/clusters/{number}/members",
    response_model=ClusterMembersPage,
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
    response_model=ClusterResponse,
    summary="Set the status of a cluster",
)
def post_status(
    context: Context, number: Number, caller: CallerName, body: ClusterStatusRequest
) -> Any:
    """Set the status of a cluster; it stays when the cluster is found again."""

    def work(connection: sa.Connection) -> clusters.Cluster:
        clusters.set_status(connection, number, body.status, caller)
        return clusters.get(connection, number)

    return context.store.write(work)
