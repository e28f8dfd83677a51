"""The service as one ASGI app."""

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

import barograph
from barograph.runtime.errors import BarographError
from barograph.server.store import Store
from barograph.server.web.auth import Auth
from barograph.server.web.background import BackgroundWorker
from barograph.server.web.context import AppContext
from barograph.server.web.middleware import Metrics, ServiceMiddleware
from barograph.server.web.model_watch import CandidateModel, LoadedModel, ModelWatch
from barograph.server.web.pages.rendering import answer_error
from barograph.server.web.retraining import Retraining
from barograph.server.web.routes.points import SCHEMAS
from barograph.server.web.settings import Settings

MODEL_POLL = 1.0  # seconds between two checks of the model file
MODULES = (  # requests are matched in this order
    *("routes.points", "routes.operations", "routes.series", "routes.change_points"),
    *("routes.verdicts", "routes.commits", "routes.inference", "routes.training"),
    *("routes.administration", "routes.queue", "pages.queue", "pages.rendering", "pages.sign_in"),
)
ROUTERS = [  # all of the modules
    router
    for name in MODULES
    for router in vars(import_module(f"barograph.server.web.{name}")).values()
    if isinstance(router, APIRouter)
]


class BarographAPI(FastAPI):
    """An app whose OpenAPI document has the schema of results, too."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document; it is made once."""
        if self.openapi_schema is None:
            schemas = super().openapi()["components"]["schemas"]
            schemas.update(SCHEMAS)
            for name, schema in schemas.items():
                if name.startswith("Body_"):  # see `ApiRequest`
                    schema["additionalProperties"] = False
        return super().openapi()


def create_app(
    store: Store,
    watch: ModelWatch,
    settings: Settings | None = None,
    worker: BackgroundWorker | None = None,
    on_failure: Callable[[], None] = lambda: None,
    retraining: Retraining | None = None,
) -> FastAPI:
    """Return the service over an open store.

    The app answers while it loads the first model, and refuses results until then.

    Args:
        store: Open store; the caller closes it after the app has ended.
        watch: Loads the first model, unless it was started, and new ones.
        settings: Limits of the service.
        worker: Does the background work while the app runs. None leaves candidates as they are.
        on_failure: Called if the first model is not usable; `watch.failure` says why.
        retraining: Retrains on request. None offers no retraining.
    """
    settings, metrics = settings or Settings(), Metrics()
    app = BarographAPI(
        title="Barograph",
        version=barograph.__version__,
        description="Send benchmark results and get decisions on the newest commit.",
        docs_url=None,  # its pages load scripts from another site
        redoc_url=None,
        redirect_slashes=False,  # a redirect could send tokens over http, or to any Host
        lifespan=_lifespan,
        exception_handlers=dict.fromkeys(
            (HTTPException, BarographError, RequestValidationError), answer_error
        ),
    )
    app.state.on_failure = on_failure
    scorer = CandidateModel(None if worker is None else worker.config.path)
    app.state.context = AppContext(
        *(store, watch, metrics, settings, Auth(store, settings), worker, scorer),
        retraining=retraining,
    )
    for router in ROUTERS:
        # Not include_router: it nests the routes, and metrics need their paths.
        app.router.routes.extend(router.routes)
    app.add_middleware(ServiceMiddleware, metrics=metrics, answer_error=answer_error)
    if settings.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=sorted(settings.trusted_proxies))

    def use(loaded: LoadedModel) -> None:
        # The next transaction uses it; the running one ends with the former judge.
        store.judge = loaded.judge
        metrics.model.clear()
        metrics.model.labels(loaded.judge.version).set(1)

    watch.on_model, watch.on_refused = use, metrics.refused_models.inc
    if watch.current is not None:
        use(watch.current)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    context: AppContext = app.state.context
    threading.Thread(
        target=context.watch.run,
        args=(MODEL_POLL, app.state.on_failure),
        name="barograph-model",
        daemon=True,
    ).start()
    if context.worker is not None:
        context.worker.start()
    yield
    if context.retraining is not None:
        context.retraining.cancel()
    context.watch.stop()
    if context.worker is not None:
        context.worker.stop()
