"""What all routes share: the parts of the service, and the check of who may call them."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from fastapi import APIRouter, Depends, Request, Security
from fastapi.dependencies.models import Dependant
from fastapi.params import Body
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.responses import Response

from barograph.server.store import Store
from barograph.server.store.tokens import Scope
from barograph.server.triage.similar_cases import DecidedCases
from barograph.server.web.auth import Auth
from barograph.server.web.background import BackgroundWorker
from barograph.server.web.metrics import Metrics
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


async def _context(request: Request) -> AppContext:
    context: AppContext = request.app.state.context
    return context


async def _caller(request: Request) -> str:
    name: str = request.state.caller.name
    return name


# Parameters of routes. The functions are async because FastAPI runs others in threads.
Context = Annotated[AppContext, Depends(_context)]
CallerName = Annotated[str, Depends(_caller)]


class GuardedRoute(APIRoute):
    """A route that admits its caller before any byte of the body is read."""

    scope: ClassVar[Scope]

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of the route after the guard."""
        handle = super().get_route_handler()
        known = _query_parameters(self.dependant)
        body = self.dependant.body_params
        is_embedded = len(body) > 1 or any(
            isinstance(field.field_info, Body) and field.field_info.embed for field in body
        )
        fields = {field.alias for field in body} if is_embedded else set()

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


def _query_parameters(dependant: Dependant) -> set[str]:
    """Return the names of the query parameters of a route and of its dependencies."""
    names = {field.alias for field in dependant.query_params}
    return names.union(*map(_query_parameters, dependant.dependencies))


def guarded_router(scope: Scope, tag: str) -> APIRouter:
    """Return a router whose routes all need one scope.

    Args:
        scope: Scope that callers need.
        tag: Heading of the routes in the OpenAPI document.
    """
    return APIRouter(
        route_class=type("GuardedRoute", (GuardedRoute,), {"scope": scope}),
        dependencies=[Security(BEARER, scopes=[scope.value])],
        tags=[tag],
        responses=ERRORS,
    )
