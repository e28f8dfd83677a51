"""Health, readiness and metrics."""

from typing import Any, Literal

import sqlalchemy as sa
from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

import barograph
from barograph.errors import StoreError
from barograph.service.context import Context, guarded_router
from barograph.service.metrics import MEDIA_TYPE
from barograph.service.responses import ERRORS, Schema
from barograph.service.routes.points import MODEL_EXAMPLE
from barograph.store import stale
from barograph.store.tokens import Scope

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


class HealthResponse(Schema):
    """Whether the service is alive, or ready."""

    status: Literal["alive", "ready"] = Field(examples=["ready"])
    model: str | None = Field(default=None, examples=[MODEL_EXAMPLE])
    version: str = Field(examples=["0.1.0"])


# Probes need no token, and say nothing but yes or no.
probes = APIRouter(tags=["operations"])
routes = guarded_router(Scope.READ, "operations", allow_stale=True)


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
    """Answer 200 while a compiled model is loaded and the store answers."""
    version = context.model.judge.version
    with context.store.read() as connection:
        connection.scalar(sa.select(1))
    return {"status": "ready", "model": version, "version": barograph.__version__}


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
            metrics.set_store_up(stale.count(connection))
    except StoreError:
        metrics.set_store_down()
    return Response(metrics.text(), media_type=MEDIA_TYPE)
