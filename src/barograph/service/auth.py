"""Authorisation: tokens with scopes, rate limits, and trust in the local machine."""

from __future__ import annotations

import hashlib
import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from barograph.errors import StoreError
from barograph.service.responses import ApiError
from barograph.service.settings import Settings
from barograph.store import Store, tokens
from barograph.store.tokens import Scope

MAX_TOKEN = 200  # characters
CACHED_TOKENS = 1000
CACHED_CALLERS = 10_000
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="barograph"'}


@dataclass(frozen=True)
class Caller:
    """Who sends a request, and what they may do."""

    name: str
    scopes: frozenset[Scope]


LOCAL = Caller("local", frozenset(Scope))


class Auth:
    """Admits callers to routes.

    Args:
        store: Store with the tokens.
        settings: Limits of the service.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.tokens = TokenCache(store)
        self._local = settings.local
        self._requests = RateLimiter(settings.rate, settings.burst)
        self._failures = RateLimiter(settings.failures / 60, settings.failures)

    async def admit(self, request: Request, scope: Scope, *, allow_stale: bool = False) -> Caller:
        """Return the caller of a request, who may use the scope.

        Args:
            request: The request; its body is not read.
            scope: Scope that the caller needs.
            allow_stale: Whether the last known state of the tokens counts while the store does
                not answer.

        Raises:
            ApiError: The caller is unknown (401), lacks the scope (403) or sends too much (429).
        """
        caller = await self._authenticate(request, allow_stale)
        if scope not in caller.scopes and Scope.ADMIN not in caller.scopes:
            raise ApiError(403, f"this token lacks the scope {scope.value!r}")
        _check_rate(self._requests.take(caller.name))
        return caller

    async def _authenticate(self, request: Request, allow_stale: bool) -> Caller:
        address = request.client.host if request.client else ""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not scheme:
            if self._local and await self._no_tokens(allow_stale):
                return _trust_local(request, address)
            raise ApiError(401, "a token is required", headers=CHALLENGE)
        token = token.strip()
        if scheme.lower() == "bearer" and 0 < len(token) <= MAX_TOKEN:
            caller = self.tokens.cached(token)
            if caller is None:
                caller = await run_in_threadpool(self.tokens.find, token, allow_stale=allow_stale)
            if caller is not None:
                return caller
        # Only wrong tokens are limited by address: clients behind one proxy share an address, and
        # the errors of one must not lock out the others.
        _check_rate(self._failures.take(address))
        raise ApiError(401, "unknown token", headers=CHALLENGE)

    async def _no_tokens(self, allow_stale: bool) -> bool:
        if self.tokens.known_empty:
            return True
        return not await run_in_threadpool(self.tokens.any, allow_stale=allow_stale)


class TokenCache:
    """Reads tokens from the store and caches valid ones for a moment.

    Args:
        store: Store with the tokens.
        max_age: Seconds until a revoked token is refused at the latest; with `allow_stale` only
            while the store answers.
        clock: Returns the time in seconds.
    """

    def __init__(
        self, store: Store, max_age: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._max_age = max_age
        self._clock = clock
        self._callers: dict[bytes, tuple[float, Caller]] = {}
        self._empty_until = 0.0

    @property
    def known_empty(self) -> bool:
        """Whether the store is known to have no token, without asking it."""
        return self._clock() < self._empty_until

    def cached(self, token: str) -> Caller | None:
        """Return the caller of a cached token."""
        until, caller = self._callers.get(_digest(token), (0.0, None))
        return caller if self._clock() < until else None

    def any(self, *, allow_stale: bool = False) -> bool:
        """Return whether a token was ever created; revoked tokens count."""
        try:
            with self._store.read() as connection:
                found = bool(tokens.every(connection))
        except StoreError:
            if allow_stale and self._empty_until:
                return False
            raise
        self._empty_until = 0.0 if found else self._clock() + self._max_age
        return found

    def find(self, token: str, *, allow_stale: bool = False) -> Caller | None:
        """Return the caller of a valid token."""
        digest = _digest(token)
        try:
            with self._store.read() as connection:
                row = tokens.find(connection, token)
        except StoreError:
            last = self._callers.get(digest)
            if allow_stale and last is not None:
                return last[1]
            raise
        if row is None:
            self._callers.pop(digest, None)
            return None
        caller = Caller(row.name, row.scopes)
        if len(self._callers) >= CACHED_TOKENS:
            self._callers.clear()
        self._callers[digest] = (self._clock() + self._max_age, caller)
        return caller

    def clear(self) -> None:
        """Forget all tokens, so that the store is asked again."""
        self._callers.clear()
        self._empty_until = 0.0


def _digest(token: str) -> bytes:
    """Return the cache key of a token; the time of a lookup reveals nothing about the token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class RateLimiter:
    """A token bucket for each caller.

    Args:
        rate: Requests per second that a bucket regains.
        burst: Requests that a full bucket holds.
        clock: Returns the time in seconds.
    """

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> float:
        """Take one request from a bucket; return 0, or the seconds to wait."""
        now = self._clock()
        left, then = self._buckets.pop(caller, (self._burst, now))
        left = min(self._burst, left + (now - then) * self._rate)
        wait = 0.0 if left >= 1 else (1 - left) / self._rate
        self._buckets[caller] = (left if wait else left - 1, now)
        if len(self._buckets) > CACHED_CALLERS:
            self._buckets.popitem(last=False)
        return wait


def _check_rate(wait: float) -> None:
    if wait:
        retry = {"Retry-After": str(math.ceil(wait))}
        raise ApiError(429, f"too many requests; try again in {wait:.3g} s", headers=retry)


def _trust_local(request: Request, address: str) -> Caller:
    """Trust this machine, but no other machine and no page of another site in its browser."""
    if not is_loopback(address):
        raise ApiError(
            401, "until a token is created, only this machine is served", headers=CHALLENGE
        )
    host = request.headers.get("host", "")
    if not is_loopback(_hostname(f"//{host}")):
        raise ApiError(421, f"Host: {host!r:.60} is not this machine")
    origin = request.headers.get("origin")
    if origin is not None and not is_loopback(_hostname(origin)):
        raise ApiError(403, "pages of another site may not use this service")
    return LOCAL


def _hostname(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


@lru_cache(64)
def is_loopback(host: str) -> bool:
    """Return whether a host is this machine and reachable from it alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
