"""Health, readiness and metrics of the service, and the health of its data with its page."""

from dataclasses import dataclass
from typing import Any, Literal

from fastapi import APIRouter, Request
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

import barograph
from barograph.runtime.errors import StoreError
from barograph.server.store import arrivals, candidate_records
from barograph.server.store.arrivals import (
    HOUR,
    LEAST,
    PATIENCE,
    LateSeries,
    Rejection,
    SeriesCounts,
    SilentSource,
    WaitingSuspect,
)
from barograph.server.store.audit import now
from barograph.server.store.tokens import Scope
from barograph.server.web.context import Connection, Context, guarded_router
from barograph.server.web.pages.rendering import names, page_router, render
from barograph.server.web.responses import ERRORS
from barograph.server.web.schemas import answer, schema_of

SHOWN = 100  # rows of each list
DAYS = 7  # that rejections are counted over
MINUTE = 60_000
LATE = 5 * MINUTE  # of the background work, before the page calls it late
HEALTH = answer("Health", status=Literal["alive", "ready"], model=str | None, version=str)
UNAVAILABLE: dict[int | str, dict[str, Any]] = {503: ERRORS[503]}
TEXT = {"content": {"text/plain": {"schema": {"type": "string"}}}}


@dataclass(frozen=True)
class DataHealth:
    """The health of the data at one moment.

    Attributes:
        now: The moment, in milliseconds since 1970.
        counts: How many series there are, and what is wrong with how many.
        pipelines: Pipelines that fell silent as a whole.
        series: Silent series of pipelines that still send others.
        late: Series with results that came after those of later commits.
        suspects: Newest results that wait for a rerun.
        rejected: Reasons of rejected results of the last days.
        waiting: Number of series whose change points are out of date.
        lag: Milliseconds since the oldest of them changed.
    """

    now: int
    counts: SeriesCounts
    pipelines: tuple[SilentSource, ...]
    series: tuple[SilentSource, ...]
    late: tuple[LateSeries, ...]
    suspects: tuple[WaitingSuspect, ...]
    rejected: tuple[Rejection, ...]
    waiting: int
    lag: int


def data_health(connection: Connection) -> DataHealth:
    """Return the health of the data.

    Args:
        connection: From `Store.read`.
    """
    timestamp = now()
    waiting, since = candidate_records.stale_lag(connection)
    return DataHealth(
        timestamp,
        arrivals.counts(connection, timestamp),
        tuple(arrivals.silent_pipelines(connection, timestamp, SHOWN)),
        tuple(arrivals.silent_series(connection, timestamp, SHOWN)),
        tuple(arrivals.late_series(connection, SHOWN)),
        tuple(arrivals.waiting_suspects(connection, SHOWN)),
        tuple(arrivals.recent_rejections(connection, timestamp - (DAYS - 1) * arrivals.DAY)),
        waiting,
        0 if since is None else max(0, timestamp - since),
    )


# Probes need no token, and say nothing but yes or no.
probes = APIRouter(tags=["operations"])
routes = guarded_router(Scope.READ, "operations")
page_routes = page_router()


@probes.get("/health", response_model=HEALTH)
async def get_health() -> dict[str, Any]:
    """Answer 200 while the process answers requests."""
    return {"status": "alive", "model": None, "version": barograph.__version__}


@probes.get("/ready", response_model=HEALTH, responses=UNAVAILABLE)
@probes.get("/ping", response_model=HEALTH, responses=UNAVAILABLE)  # MLflow's clients ask it
def get_ready(context: Context) -> dict[str, Any]:
    """Answer 200 while a compiled model is loaded, and the store can be read and written."""
    model = context.model.judge.version
    context.store.check()
    return {"status": "ready", "model": model, "version": barograph.__version__}


@routes.get("/metrics", responses={200: TEXT}, response_class=Response)
def get_metrics(context: Context) -> Response:
    """Return requests, points and decisions since the start in Prometheus' text format.

    While the store does not answer, `barograph_store_up` is 0.
    """
    try:
        with context.store.read() as connection:
            context.metrics.set_store(candidate_records.count_stale(connection))
    except StoreError:
        context.metrics.set_store(None)
    return Response(generate_latest(context.metrics.registry), media_type=CONTENT_TYPE_LATEST)


@routes.get("/api/v1/data-health", response_model=schema_of(DataHealth))
def get_data_health(connection: Connection) -> Any:
    """Return what fell silent, came late, waits or was rejected: no data is not no regression."""
    return data_health(connection)


@page_routes.get("/data-health")
def get_health_page(connection: Connection, request: Request, context: Context) -> Response:
    """Return the page of the data's health."""
    health = data_health(connection)
    return render(
        request,
        "health.html",
        active="health",
        health=health,
        findings=findings(health),
        worker=context.worker,
        days=DAYS,
        patience=PATIENCE,
        least=LEAST + 1,
        behind=health.lag > LATE,
        gap=gap,
        names=names,
    )


def findings(health: DataHealth) -> list[tuple[int, str, str, bool]]:
    """Return the summary of the page: number, text, section, and whether somebody should look."""
    counts = health.counts
    rejected = sum(rejection.results for rejection in health.rejected)
    waiting = "suspect waits" if counts.suspects == 1 else "suspects wait"
    numbers = [
        (counts.silent, "silent series", "silent"),
        (counts.late, "series with late results", "late"),
        (counts.suspects, f"{waiting} for a rerun", "suspects"),
        (rejected, f"result{'s' * (rejected != 1)} rejected in {DAYS} days", "rejected"),
    ]
    lag = (health.waiting, "series to recompute", "lag", health.lag > LATE)
    return [*((*finding, finding[0] > 0) for finding in numbers), lag]


def gap(milliseconds: int) -> str:
    """Return a gap between results for people.

    Example:
        >>> gap(1_800_000), gap(10_800_000), gap(172_800_000)
        ('30 min', '3 h', '2 d')
    """
    if milliseconds < 2 * HOUR:
        return f"{max(1, round(milliseconds / MINUTE))} min"
    hours = milliseconds / HOUR
    return f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} d"
