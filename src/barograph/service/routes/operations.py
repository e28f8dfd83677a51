"""What those who run the service ask: is it alive, is it ready, what does it do."""

import sqlalchemy as sa
from fastapi import APIRouter, Request
from starlette.responses import Response

import barograph
from barograph.errors import StoreError
from barograph.service.access import Scraping, router
from barograph.service.answers import Json
from barograph.service.asking import asked
from barograph.service.errors import RETRY, Refused
from barograph.service.metrics import MEDIA_TYPE
from barograph.service.parts import parts_of
from barograph.service.schemas.operations import EXPOSITION, Health
from barograph.service.schemas.shared import ERRORS
from barograph.store import stale

# Probes have no token, and learn nothing but yes or no.
probes = APIRouter(tags=["operations"])
routes = router(Scraping, "operations")


@probes.get("/health", response_model=Health, summary="Is it alive?")
async def health() -> Json:
    """Answer as long as the service answers at all."""
    return Json({"status": "alive", "model": None, "version": barograph.__version__})


@probes.get("/ready", response_model=Health, responses={503: ERRORS[503]}, summary="Can it decide?")
async def ready(request: Request) -> Json:
    """Answer 200 once the model is compiled and while the store answers."""
    parts = parts_of(request)
    loaded = parts.watch.current
    if loaded is None:
        raise Refused(503, "no model decides yet", headers=RETRY)
    await asked(request, lambda c: c.scalar(sa.select(1)))
    version = barograph.__version__
    return Json({"status": "ready", "model": loaded.judge.version, "version": version})


@probes.get("/ping", response_model=Health, responses={503: ERRORS[503]}, summary="MLflow's probe")
async def ping(request: Request) -> Json:
    """Answer as `/ready` does, where MLflow's clients look."""
    return await ready(request)


@routes.get(
    "/metrics",
    responses={**ERRORS, 200: {"content": {"text/plain": EXPOSITION}}},
    response_class=Response,
    summary="What Prometheus asks",
)
async def metrics(request: Request) -> Response:
    """Requests, points and decisions since the start, as Prometheus reads them.

    It answers while the store does not, too: then `barograph_store_up` is 0.
    """
    known = parts_of(request).metrics
    try:
        known.store_answered(await asked(request, stale.waiting))
    except StoreError:
        known.store_failed()
    return Response(known.text(), media_type=MEDIA_TYPE)
