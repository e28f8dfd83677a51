"""What all routes share: the parts of the service, the guard, bodies, and transactions.

Bodies are bounded while they arrive, while they unpack, and before they are decoded.
"""

import asyncio
import gzip
import io
import zlib
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from typing import Annotated, Any, ClassVar

import msgspec
import sqlalchemy as sa
from fastapi import APIRouter, Depends, Request, Security
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.responses import Response

from barograph.server.store import Store
from barograph.server.store.tokens import Scope
from barograph.server.triage.noise import KnownNoise
from barograph.server.triage.similar_cases import DecidedCases
from barograph.server.web.auth import Auth
from barograph.server.web.background import BackgroundWorker
from barograph.server.web.middleware import Metrics
from barograph.server.web.model_watch import CandidateModel, LoadedModel, ModelWatch
from barograph.server.web.responses import ERRORS, RETRY, ApiError
from barograph.server.web.retraining import Retraining
from barograph.server.web.settings import Settings

MAX_COMMAS = 64  # of one row; a measurement with 32 arguments needs fewer
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
    noise: KnownNoise = field(default_factory=KnownNoise)
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


async def _store(request: Request) -> Store:
    store: Store = request.app.state.context.store
    return store


async def _caller(request: Request) -> str:
    name: str = request.state.caller.name
    return name


# Parameters of routes. The functions are async because FastAPI runs others in threads.
Context = Annotated[AppContext, Depends(_context)]
Connection = Annotated[sa.Connection, Depends(_store)]  # see `GuardedRoute`
CallerName = Annotated[str, Depends(_caller)]


class GuardedRoute(APIRoute):
    """A route that admits its caller before any byte of the body is read.

    A function with a parameter `connection` runs in one transaction: a GET reads, others write.
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
            return await handle(ApiRequest(request, fields))

        return guarded


def _transaction(function: Callable[..., Any], *, writes: bool) -> Callable[..., Any]:
    """Return a function that takes a store, and calls a function with a connection to it."""

    @wraps(function)
    def endpoint(connection: Store, **values: Any) -> Any:
        if writes:
            return connection.write(lambda opened: function(connection=opened, **values))
        with connection.read() as opened:
            return function(connection=opened, **values)

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


class ApiRequest(Request):
    """A request whose body is bounded and must be JSON; FastAPI decodes bodies through it.

    Args:
        request: The request of the framework.
        fields: Names of the fields of the body; empty if its schema checks them.
    """

    def __init__(self, request: Request, fields: Collection[str]) -> None:
        super().__init__(request.scope, request.receive)
        self._fields = fields

    async def body(self) -> bytes:
        """Return the body, unpacked if it was compressed."""
        if not hasattr(self, "_body"):
            self._body = await read_body(self, ["application/json"])
        return self._body

    async def json(self) -> Any:
        """Return the decoded body."""
        body = await self.body()
        check_elements(body, self.app.state.context.store.limits.batch)
        content = decode_json(body)
        is_known = isinstance(content, dict) and self._fields
        unknown = set(content) - set(self._fields) if is_known else set()
        if unknown:  # a misspelt field must not pass for one that is left out
            allowed = ", ".join(sorted(self._fields))
            raise ApiError(422, f"no field {min(unknown)!r:.60}; allowed: {allowed}")
        return content


def media_type(request: Request) -> str:
    """Return the media type of a request without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(request: Request, types: Collection[str]) -> bytes:
    """Return the body of a request, unpacked if it is gzip.

    Args:
        request: The request.
        types: Media types that are accepted.

    Raises:
        ApiError: The body is too large, damaged, or has an unknown type or encoding.
    """
    media = media_type(request)
    if media not in types:
        raise ApiError(415, f"Content-Type: {media!r:.60} is not {' or '.join(types)}")
    settings: Settings = request.app.state.context.settings
    limit, length = settings.max_body, request.headers.get("content-length", "0")
    if length.isdecimal() and int(length[:20]) > limit:
        raise _too_large(limit)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise _too_large(limit)
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding == "identity":
        return bytes(body)
    if encoding == "gzip":
        return await asyncio.to_thread(_unpack, bytes(body), settings.max_unpacked)
    raise ApiError(
        415, f"Content-Encoding: {encoding!r:.40} is not supported; use gzip or identity"
    )


def check_elements(body: bytes, max_rows: int) -> None:
    """Refuse a JSON body with far more elements than its rows need, before it is decoded."""
    if body.count(b",") > max_rows * MAX_COMMAS or (
        body.count(b"[") + body.count(b"{") > 4 * max_rows + 64
    ):
        raise ApiError(413, f"the body has too many elements for {max_rows} rows")


def decode_json(body: bytes, type_: Any = Any) -> Any:
    """Decode a JSON body.

    Args:
        body: UTF-8 text.
        type_: Expected type, see `msgspec.json.decode`.

    Raises:
        ApiError: The body is not valid JSON (400), or of another type (422).
    """
    try:
        return msgspec.json.decode(body.decode(), type=type_)
    except msgspec.ValidationError as error:
        raise ApiError(422, f"body: {error}") from error
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or nested too deeply
        raise ApiError(400, f"the body is not valid JSON: {error!s:.200}") from error


def _unpack(packed: bytes, limit: int) -> bytes:
    """Unpack gzip up to a limit."""
    try:
        body = gzip.GzipFile(fileobj=io.BytesIO(packed)).read(limit + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise ApiError(400, f"the body is not valid gzip: {error}") from error
    if len(body) > limit:
        raise _too_large(limit)
    return body


def _too_large(limit: int) -> ApiError:
    return ApiError(413, f"the body is larger than {limit} bytes; send several requests")
