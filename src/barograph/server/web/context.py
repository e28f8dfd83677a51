"""What all routes share: the parts of the service, the guard, and the transaction of a route."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, ClassVar

import sqlalchemy as sa
from fastapi import APIRouter, Depends, Request, Security
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.responses import Response

from barograph.server.store import Store
from barograph.server.store.tokens import Scope
from barograph.server.triage.similar_cases import DecidedCases
from barograph.server.web.auth import Auth
from barograph.server.web.background import BackgroundWorker
from barograph.server.web.middleware import Metrics
from barograph.server.web.model_watch import CandidateModel, LoadedModel, ModelWatch
from barograph.server.web.requests import ApiRequest
from barograph.server.web.responses import ERRORS, RETRY, ApiError
from barograph.server.web.retraining import Retraining
from barograph.server.web.settings import Settings

BEARER = HTTPBearer(auto_error=False, description="A token made by `barograph token add`.")


@dataclass(frozen=True)
class AppContext:
    """The parts of one running service."""

    store: Store
    watch: ModelWatch
    metrics: Metrics
    settings: Settings
    auth: Auth
    worker: BackgroundWorker | None = None
    candidate_model: CandidateModel = field(default_factory=lambda: CandidateModel(None))
    decided_cases: DecidedCases = field(default_factory=DecidedCases)
    retraining: Retraining | None = None

    @property
    def model(self) -> LoadedModel:
        """The model in use.

        Raises:
            ApiError: No model is loaded.
        """
        if self.watch.current is None:
            raise ApiError(503, "the model is not loaded yet", headers=RETRY)
        return self.watch.current


async def context_of(request: Request) -> AppContext:
    """Return the parts of the service; not in a thread, as FastAPI runs other functions."""
    context: AppContext = request.app.state.context
    return context


async def _caller(request: Request) -> str:
    name: str = request.state.caller.name
    return name


# Parameters of routes.
Context = Annotated[AppContext, Depends(context_of)]
CallerName = Annotated[str, Depends(_caller)]


class GuardedRoute(APIRoute):
    """A route that admits its caller before any byte of the body is read.

    A function with a parameter `connection` runs in one transaction, in the thread of the request:
    a GET reads, and other methods write.
    """

    scope: ClassVar[Scope]

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if "connection" in signature(endpoint).parameters:
            endpoint = _transaction(endpoint, writes="GET" not in options["methods"])
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route after the guard."""
        handle = super().get_route_handler()
        params = get_flat_params(self.dependant)
        known = {param.alias for param in params if isinstance(param.field_info, Query)}
        body = self.dependant.body_params
        is_embedded = len(body) > 1 or any(getattr(p.field_info, "embed", False) for p in body)
        fields = {param.alias for param in body if is_embedded}

        async def guarded(request: Request) -> Response:
            auth: Auth = request.app.state.context.auth
            request.state.caller = await auth.admit(request, self.scope)
            # A misspelt filter must not answer with everything.
            for name in request.query_params:
                if name not in known:
                    allowed = ", ".join(sorted(known)) or "none"
                    raise ApiError(422, f"no query parameter {name!r:.60}; allowed: {allowed}")
            return await handle(ApiRequest(request.scope, request.receive, fields))

        return guarded


def _transaction(function: Callable[..., Any], *, writes: bool) -> Callable[..., Any]:
    """Return a function that takes the context of the service in the place of a connection."""
    parameters = dict(signature(function).parameters)
    del parameters["connection"]
    takes_context = parameters.pop("context", None) is not None

    @wraps(function)
    def endpoint(context: AppContext, **values: Any) -> Any:
        if takes_context:
            values["context"] = context

        def work(connection: sa.Connection) -> Any:
            return function(connection=connection, **values)

        if writes:
            return context.store.write(work)
        with context.store.read() as connection:
            return work(connection)

    added = Parameter("context", Parameter.KEYWORD_ONLY, annotation=Context)
    endpoint.__signature__ = Signature([*parameters.values(), added])  # type: ignore[attr-defined]
    return endpoint


def guarded_router(scope: Scope, tag: str, **options: Any) -> APIRouter:
    """Return a router whose routes all need one scope.

    Args:
        scope: Scope that callers need.
        tag: Heading of the routes in the OpenAPI document.
        options: Further options of `APIRouter`.
    """
    return APIRouter(
        route_class=type("GuardedRoute", (GuardedRoute,), {"scope": scope}),
        dependencies=[Security(BEARER, scopes=[scope.value])],
        tags=[tag],
        responses=ERRORS,
        **options,
    )
