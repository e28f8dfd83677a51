"""Who may do what: tokens with scopes, and a machine that trusts itself.

A route is guarded before a byte of its body is read.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import lru_cache
from inspect import signature
from typing import Any, ClassVar, Protocol
from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from barograph.service.errors import Refused
from barograph.service.rate import Rate
from barograph.service.settings import Settings
from barograph.store.tokens import Scope

BEARER = HTTPBearer(auto_error=False, description="A token that `barograph token add` made.")
LONGEST = 200  # characters of a token
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="barograph"'}


@dataclass(frozen=True)
class Caller:
    """Who sends a request, and what they may do."""

    name: str
    scopes: frozenset[Scope]


LOCAL = Caller("local", frozenset(Scope))


class Keyring(Protocol):
    """The tokens that are valid now."""

    @property
    def surely_empty(self) -> bool:
        """Whether it is remembered that there is no token at all; tells at once."""

    def recall(self, token: str) -> Caller | None:
        """Return whose a token is, where that is remembered; tells at once."""

    def any(self, *, by_memory: bool = False) -> bool:
        """Whether there is any; `by_memory` as it was last known, where nobody can say now."""

    def check(self, token: str, *, by_memory: bool = False) -> Caller | None:
        """Return whose a token is; compared in constant time with all of them.

        With `by_memory` whose it was when last seen, where nobody can say now.
        """

    def forget(self) -> None:
        """Ask the store again: something changed."""


class Access:
    """Lets callers in, or says why not."""

    def __init__(self, keys: Keyring, settings: Settings) -> None:
        self._keys = keys
        self._local = settings.local
        self._rate = Rate(settings.rate, settings.burst)
        self._failures = Rate(settings.failures / 60, settings.failures)

    async def admit(self, request: Request, scope: Scope, *, by_memory: bool = False) -> Caller:
        """Return the caller of a request, who may use the scope.

        Args:
            request: what is asked.
            scope: what the caller has to be allowed.
            by_memory: what was last known of a token holds while the store does not answer.

        Raises:
            Refused: nobody known (401), or not allowed this (403), or too often (429).
        """
        caller = await self._known(request, by_memory)
        if scope not in caller.scopes and Scope.ADMIN not in caller.scopes:
            raise Refused(403, f"this token has no scope {scope.value!r}")
        self._slow(self._rate.take(caller.name))
        return caller

    def forget(self) -> None:
        """Look at the tokens anew."""
        self._keys.forget()

    async def _known(self, request: Request, by_memory: bool) -> Caller:
        address = request.client.host if request.client else ""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if not kind:
            if self._local and await self._none(by_memory):
                return _trusted(request, address)
            raise Refused(401, "a token is needed", headers=CHALLENGE)
        token = token.strip()
        if kind.lower() == "bearer" and 0 < len(token) <= LONGEST:
            caller = self._keys.recall(token)
            if caller is None:
                caller = await run_in_threadpool(self._keys.check, token, by_memory=by_memory)
            if caller is not None:
                return caller
        # Only now: behind a proxy all share one address, and one's errors must not lock out others.
        self._slow(self._failures.take(address))
        raise Refused(401, "this token is not known", headers=CHALLENGE)

    async def _none(self, by_memory: bool) -> bool:
        """Whether there is no token at all."""
        if self._keys.surely_empty:
            return True
        return not await run_in_threadpool(self._keys.any, by_memory=by_memory)

    def _slow(self, wait: float) -> None:
        if wait:
            retry = {"Retry-After": str(math.ceil(wait))}
            raise Refused(429, f"too many requests; try again in {wait:.3g} s", headers=retry)


def _trusted(request: Request, address: str) -> Caller:
    """Trust this machine alone: not another one, nor a page of a foreign site in its browser."""
    if not is_loopback(address):
        raise Refused(401, "without any token only this machine is served", headers=CHALLENGE)
    host = request.headers.get("host", "")
    if not is_loopback(_host(f"//{host}")):
        raise Refused(421, f"Host: {host!r:.60} is not this machine")
    origin = request.headers.get("origin")
    if origin is not None and not is_loopback(_host(origin)):
        raise Refused(403, "a page of another site may not use this service")
    return LOCAL


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


@lru_cache(64)
def is_loopback(host: str) -> bool:
    """Whether a host is this machine and reachable from it alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guarded(APIRoute):
    """A route that admits a caller first; `request.state.caller` is who it was."""

    scope: ClassVar[Scope]
    by_memory: ClassVar[bool] = False  # see `Access.admit`

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Put the guard before the handler."""
        handle = super().get_route_handler()
        if [*signature(self.endpoint).parameters] == ["request"]:
            handle = self.endpoint  # needs nothing of what FastAPI would gather for it

        async def guarded(request: Request) -> Response:
            access: Access = request.app.state.access
            caller = await access.admit(request, self.scope, by_memory=self.by_memory)
            request.state.caller = caller
            return await handle(request)

        return guarded


class Ingesting(Guarded):
    """For those who send results."""

    scope = Scope.INGEST


class Reading(Guarded):
    """For those who look."""

    scope = Scope.READ


class Scraping(Reading):
    """For those who watch the service itself, also while the store does not answer."""

    by_memory = True


class Triaging(Guarded):
    """For those who give verdicts."""

    scope = Scope.TRIAGE


class Administering(Guarded):
    """For those who run the service."""

    scope = Scope.ADMIN


def router(kind: type[Guarded], tag: str) -> APIRouter:
    """Return a router whose routes are all guarded alike, and say so in the OpenAPI text."""
    needed = [Security(BEARER, scopes=[kind.scope.value])]
    return APIRouter(route_class=kind, dependencies=needed, tags=[tag])


def caller_of(request: Request) -> Caller:
    """Who sent this request."""
    caller: Caller = request.state.caller
    return caller
