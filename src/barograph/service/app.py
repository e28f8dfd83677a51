"""The service as one ASGI app: its parts put together."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

import barograph
from barograph.errors import BarographError
from barograph.service.access import Access
from barograph.service.behind import Behind
from barograph.service.description import Described
from barograph.service.errors import handle_errors
from barograph.service.garbage import settle
from barograph.service.keys import StoreKeys
from barograph.service.metrics import Metrics
from barograph.service.models import Loaded, Watch
from barograph.service.parts import Parts
from barograph.service.routes import (
    changes,
    clusters,
    decisions,
    inference,
    operations,
    points,
    series,
    tickets,
    tokens,
)
from barograph.service.settings import Settings
from barograph.service.shield import Shield
from barograph.store import Store

LOG = logging.getLogger("barograph.service")
PATIENCE = 3.0  # seconds that a start waits for the newest values of all series
ROUTERS = (
    operations.probes,
    operations.routes,
    points.routes,
    series.routes,
    decisions.routes,
    changes.routes,
    changes.verdicts,
    clusters.routes,
    clusters.statuses,
    tickets.routes,
    tickets.filing,
    inference.routes,
    inference.administration,
    tokens.routes,
)


def create_app(
    store: Store, watch: Watch, settings: Settings | None = None, behind: Behind | None = None
) -> FastAPI:
    """Return the service over a store and a model that decides already.

    Args:
        store: open; whoever opened it closes it after the app has ended.
        watch: has its first model; the app lets it look for others.
        settings: what is allowed, and whom.
        behind: keeps the candidates up to date while the app runs; without it nobody does.
    """
    settings, metrics = settings or Settings(), Metrics()
    app = Described(
        title="Barograph",
        version=barograph.__version__,
        description="Send benchmark results, get verdicts on the newest commit back.",
        docs_url=None,  # its pages come from a foreign site
        redoc_url=None,
        redirect_slashes=False,  # behind a proxy it would send tokens to http, and by any Host
        lifespan=_lifespan,
    )
    app.state.parts = Parts(store, watch, metrics, settings, behind)
    app.state.access = Access(StoreKeys(store), settings)
    handle_errors(app)
    for router in ROUTERS:
        app.router.routes.extend(router.routes)
    app.add_middleware(Shield, metrics=metrics)

    def take(loaded: Loaded) -> None:
        # The next transaction is judged by it; the one that runs is not.
        store.judge = loaded.judge
        metrics.model_taken(loaded.judge.version)

    watch.tell(take, metrics.model_refused)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    parts: Parts = app.state.parts
    look = threading.Thread(
        target=parts.watch.run, args=(parts.settings.look,), name="barograph-model", daemon=True
    )
    look.start()
    if parts.behind is not None:
        parts.behind.start()
    preload = threading.Thread(
        target=_preload, args=(parts.store,), name="barograph-preload", daemon=True
    )
    preload.start()
    # Nearly always it is done by then; a store that is slow to read is served meanwhile.
    await asyncio.to_thread(preload.join, PATIENCE)
    yield
    parts.watch.stop()
    if parts.behind is not None:
        parts.behind.stop()


def _preload(store: Store) -> None:
    """Read the newest values of all series."""
    try:
        store.preload()
    except BarographError as error:
        LOG.info("series are read as they are asked for: %s", error)
    settle()
