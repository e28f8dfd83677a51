"""Health, readiness and metrics."""

from typing import Any, Literal

from fastapi import APIRouter
from starlette.responses import Response

import barograph
from barograph.runtime.errors import StoreError
from barograph.server.store import candidate_records
from barograph.server.store.tokens import Scope
from barograph.server.web.context import Context, guarded_router
from barograph.server.web.data_health import DataHealth, data_health
from barograph.server.web.metrics import MEDIA_TYPE
from barograph.server.web.responses import ERRORS
from barograph.server.web.schemas import answer, schema_of

HEALTH = answer("Health", status=Literal["alive", "ready"], model=str | None, version=str)

# Probes need no token, and say nothing but yes or no.
probes = APIRouter(tags=["operations"])
routes = guarded_router(Scope.READ, "operations")


@probes.get("/health", response_model=HEALTH, summary="Liveness probe")
async def get_health() -> dict[str, Any]:
    """Answer 200 while the process answers requests."""
    return {"status": "alive", "model": None, "version": barograph.__version__}


@probes.get(
    "/ready", response_model=HEALTH, responses={503: ERRORS[503]}, summary="Readiness probe"
)
@probes.get(
    "/ping",
    response_model=HEALTH,
    responses={503: ERRORS[503]},
    summary="Readiness probe of MLflow's clients",
)
def get_ready(context: Context) -> dict[str, Any]:
    """Answer 200 while a compiled model is loaded, and the store can be read and written."""
    version = context.model.judge.version
    context.store.check()
    return {"status": "ready", "model": version, "version": barograph.__version__}


@routes.get(
    "/api/v1/data-health", response_model=schema_of(DataHealth), summary="Health of the data"
)
def get_data_health(context: Context) -> Any:
    """Return what fell silent, came late, waits or was rejected: no data is not no regression."""
    with context.store.read() as connection:
        return data_health(connection)


@routes.get(
    "/metrics",
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
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
            metrics.set_store(candidate_records.count_stale(connection))
    except StoreError:
        metrics.set_store(None)
    return Response(metrics.text(), media_type=MEDIA_TYPE)
