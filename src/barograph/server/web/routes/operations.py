"""Health, readiness and metrics."""

from typing import Any, Literal

from fastapi import APIRouter
from starlette.responses import Response

import barograph
from barograph.runtime.errors import StoreError
from barograph.server.store import stale
from barograph.server.store.tokens import Scope
from barograph.server.web.context import Context, guarded_router
from barograph.server.web.data_health import data_health
from barograph.server.web.metrics import MEDIA_TYPE
from barograph.server.web.responses import ERRORS, Schema, as_json, field
from barograph.server.web.routes.points import MODEL_EXAMPLE

EXPOSITION: dict[str, Any] = {
    "schema": {"type": "string"},
    "example": (
        "# HELP barograph_points_total Measurements by status.\n"
        "# TYPE barograph_points_total counter\n"
        'barograph_points_total{status="written"} 31.0\n'
        "# HELP barograph_store_up Whether the store answers.\n"
        "# TYPE barograph_store_up gauge\n"
        "barograph_store_up 1.0\n"
    ),
}


SILENT = {
    "series": 7,
    "name": "db/insert",
    "members": 1,
    "last": 1706220999000,
    "expected": 3600000,
}


class DataHealthResponse(Schema):
    """Whether results still come."""

    now: int = field(1706307399000)
    counts: dict[str, int] = field(
        {"active": 40, "watched": 38, "silent": 1, "late": 0, "suspects": 2},
        "Number of series that are active, watched for silence, silent, late, and "
        "whose newest result is a suspect.",
    )
    pipelines: list[dict[str, Any]] = field(
        [SILENT], "Project, variant and task all of whose series are silent."
    )
    series: list[dict[str, Any]] = field([SILENT], "Silent series of other pipelines.")
    late: list[dict[str, Any]] = field(
        [{"series": 7, "name": "db/insert", "late": 2, "order": 9, "received": 0}],
        "Series with results that came after those of later commits.",
    )
    suspects: list[dict[str, Any]] = field(
        [{"series": 7, "name": "db/insert", "order": 9, "reruns": 2, "last": 0}],
        "Newest results that only a rerun can tell from a change.",
    )
    rejected: list[dict[str, Any]] = field(
        [{"reason": "value: not finite", "results": 3, "example": "", "last": 0}],
        "Rejected results of the last seven days, by reason.",
    )
    waiting: int = field(0, "Number of series whose change points are out of date.")
    lag: int = field(0, "Milliseconds since the first of them changed.")


class HealthResponse(Schema):
    """Whether the service is alive, or ready."""

    status: Literal["alive", "ready"] = field("ready")
    model: str | None = field(MODEL_EXAMPLE, default=None)
    version: str = field("0.1.0")


# Probes need no token, and say nothing but yes or no.
probes = APIRouter(tags=["operations"])
routes = guarded_router(Scope.READ, "operations", allow_stale=True)
reports = guarded_router(Scope.READ, "operations")


@probes.get("/health", response_model=HealthResponse, summary="Liveness probe")
async def get_health() -> dict[str, Any]:
    """Answer 200 while the process answers requests."""
    return {"status": "alive", "version": barograph.__version__}


@probes.get(
    "/ready", response_model=HealthResponse, responses={503: ERRORS[503]}, summary="Readiness probe"
)
@probes.get(
    "/ping",
    response_model=HealthResponse,
    responses={503: ERRORS[503]},
    summary="Readiness probe of MLflow's clients",
)
def get_ready(context: Context) -> dict[str, Any]:
    """Answer 200 while a compiled model is loaded, and the store can be read and written."""
    version = context.model.judge.version
    context.store.check()
    return {"status": "ready", "model": version, "version": barograph.__version__}


@reports.get("/api/v1/data-health", response_model=DataHealthResponse, summary="Health of the data")
def get_data_health(context: Context) -> dict[str, Any]:
    """Return what fell silent, came late, waits or was rejected: no data is not no regression."""
    with context.store.read() as connection:
        health: dict[str, Any] = as_json(data_health(connection))
    return health


@routes.get(
    "/metrics",
    responses={200: {"content": {"text/plain": EXPOSITION}}},
    response_class=Response,
    summary="Metrics for Prometheus",
)
def get_metrics(context: Context) -> Response:
    """Return requests, points and decisions since the start in Prometheus' text format.

    While the store does not answer, `barograph_store_up` is 0.
    """
    metrics = context.metrics
    try:
        with context.store.read() as connection:
            metrics.set_store(stale.count(connection))
    except StoreError:
        metrics.set_store(None)
    return Response(metrics.text(), media_type=MEDIA_TYPE)
