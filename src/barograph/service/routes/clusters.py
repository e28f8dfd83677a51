"""Clusters: steps that many series of a project have in common, and what people say of them."""

from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import Path, Query, Request

from barograph.detection.stepfit import Status
from barograph.service.access import Reading, Triaging, caller_of, router
from barograph.service.answers import Json
from barograph.service.asking import asked, following, known, written
from barograph.service.forms import form, form_body
from barograph.service.routes.series import (
    LARGEST,
    After,
    Limit,
    Project,
    described,
    storable,
)
from barograph.service.schemas.clusters import Cluster as ClusterAnswer
from barograph.service.schemas.clusters import ClustersPage, MembersPage, StatusGiven
from barograph.service.schemas.shared import ERRORS
from barograph.store import queries
from barograph.triage import clusters
from barograph.triage.clusters import Cluster

Past = Annotated[
    bool, Query(description="Also those that the latest look found no more.", examples=[True])
]
Number = Annotated[
    int, Path(ge=1, le=LARGEST, description="The number of the cluster.", examples=[4])
]
SHAPE = ("step", "fit", "regression", "status", "current")
routes = router(Reading, "clusters")
statuses = router(Triaging, "clusters")


@routes.get(
    "/api/v1/clusters", response_model=ClustersPage, responses=ERRORS, summary="Common steps"
)
async def get_clusters(
    request: Request,
    project: Project = None,
    past: Past = False,
    after: After = 0,
    limit: Limit = 100,
) -> Json:
    """Return the clusters of all projects, or of one."""
    storable([project or ""])
    current = None if past else True
    found = await asked(
        request,
        lambda c: clusters.find(c, project=project, current=current, after=after, limit=limit),
    )
    rows = [_told(one) for one in found]
    return Json({"clusters": rows, "next": following(found, limit)})


@routes.get(
    "/api/v1/clusters/{number}",
    response_model=ClusterAnswer,
    responses=ERRORS,
    summary="One cluster",
)
async def get_cluster(request: Request, number: Number) -> Json:
    """Return one cluster."""
    return Json(_told(await asked(request, lambda c: _existing(c, number))))


@routes.get(
    "/api/v1/clusters/{number}/members",
    response_model=MembersPage,
    responses=ERRORS,
    summary="The series of a cluster",
)
async def get_members(
    request: Request, number: Number, after: After = 0, limit: Limit = 100
) -> Json:
    """Return the series that take the step, the most alike first."""

    def question(connection: sa.Connection) -> tuple[list[queries.StoredSeries], int]:
        members = _existing(connection, number).cluster.members
        page = members[after : after + limit]
        return [queries.one_series(connection, int(str(one))) for one in page], len(members)

    found, size = await asked(request, question)
    end = after + len(found)
    rows = [described(one) for one in found]
    return Json({"series": rows, "next": end if end < size else None})


@statuses.post(
    "/api/v1/clusters/{number}/status",
    response_model=ClusterAnswer,
    responses=ERRORS,
    openapi_extra=form_body(StatusGiven),
    summary="Say what a cluster is",
)
async def post_status(request: Request, number: Number) -> Json:
    """Record what you say of a cluster; it keeps it when it is found again."""
    told = await form(request, StatusGiven)
    who = caller_of(request).name

    def work(connection: sa.Connection) -> Cluster:
        _existing(connection, number)
        clusters.judge(connection, number, Status(told.status), who)
        return _existing(connection, number)

    return Json(_told(await written(request, work)))


def _existing(connection: sa.Connection, number: int) -> Cluster:
    with known():
        return clusters.one_cluster(connection, number)


def _told(one: Cluster) -> dict[str, Any]:
    shape = {name: getattr(one.cluster, name) for name in SHAPE}
    size = len(one.cluster.members)
    return {"id": one.id, "project": one.project, "order": one.order, "size": size, **shape}
