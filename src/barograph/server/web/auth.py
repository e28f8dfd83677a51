"""Who may call: tokens and sessions with scopes, rate limits, known hosts, and the local machine.

A name that an attacker controls can point to this machine, so a page of theirs would be of one
origin with the service. Therefore the service knows its own names. An address cannot be pointed
elsewhere, so any address is accepted, unless the service trusts all callers of this machine.
"""

from __future__ import annotations

import hmac
import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

import sqlalchemy as sa
from fastapi import Request
from starlette.concurrency import run_in_threadpool

from barograph.runtime.errors import StoreError
from barograph.server.store import Store, tokens
from barograph.server.store.tokens import Scope, Token, secret_hash
from barograph.server.web.responses import ApiError
from barograph.server.web.settings import Settings

T = TypeVar("T")
MAX_TOKEN = 200  # characters
MAX_AGE = 1.0  # seconds until a revoked token is refused, while the store answers
CACHED_TOKENS = 1000
CACHED_CALLERS = 10_000
COOKIE = "barograph_session"
CSRF = "X-Barograph-CSRF"
READING = ("GET", "HEAD")
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="barograph"'}


@dataclass(frozen=True)
class Caller:
    """Who sends a request, and what they may do."""

    name: str
    scopes: frozenset[Scope]
    csrf: str = ""  # what a page must send with a write; only if the caller has a session

    def may(self, scope: Scope) -> bool:
        """Return whether the caller has a scope."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


LOCAL = Caller("local", frozenset(Scope))


class Auth:
    """Admits callers to routes.

    Args:
        store: Store with the tokens.
        settings: Limits of the service.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.tokens = TokenCache(store, tokens.find)
        self.sessions = TokenCache(store, tokens.session_token)
        self._settings = settings
        self._requests = RateLimiter(settings.rate, settings.burst)

    async def admit(self, request: Request, scope: Scope) -> Caller:
        """Return the caller of a request, who may use the scope.

        Raises:
            ApiError: The host is unknown (421), the request is from a page of another site (403),
                the caller is unknown (401), lacks the scope (403) or sends too much (429).
        """
        check_host(request, self._settings)
        caller = await self._authenticate(request)
        if not caller.may(scope):
            raise ApiError(403, f"this token lacks the scope {scope.value!r}")
        _check_rate(self._requests.take(caller.name))
        return caller

    async def sign_in(self, request: Request, secret: str) -> Token:
        """Return the token that a person signs in with.

        Raises:
            ApiError: The token is unknown (401), or it sends too much, or there were too many
                wrong ones (429).
        """
        token = await self.tokens.find(secret.strip())
        if token is not None:
            _check_rate(self._requests.take(token.name))
            return token
        self._check_address(request)
        raise ApiError(401, "unknown token")

    def forget(self) -> None:
        """Ask the store again for all tokens and sessions."""
        self.tokens.clear()
        self.sessions.clear()

    async def _authenticate(self, request: Request) -> Caller:
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        cookie = request.cookies.get(COOKIE, "")
        if scheme:
            token = await self.tokens.find(secret.strip())
            if token is not None and scheme.lower() == "bearer":
                return Caller(token.name, token.scopes)
            self._check_address(request)
            raise ApiError(401, "unknown token", headers=CHALLENGE)
        if cookie and (token := await self.sessions.find(cookie)):
            csrf = csrf_of(cookie)
            sent = request.headers.get(CSRF, "").encode("latin-1")
            if request.method not in READING and not hmac.compare_digest(sent, csrf.encode()):
                raise ApiError(403, f"the header {CSRF} is missing or old; reload the page")
            return Caller(token.name, token.scopes, csrf)
        if self._settings.local and not await self.tokens.any():
            return _trust_local(request)
        self._check_address(request)
        message = "the session has ended; sign in again" if cookie else "a token is required"
        raise ApiError(401, message, headers=CHALLENGE)

    def _check_address(self, request: Request) -> None:
        # Valid tokens have a limit each: clients behind one proxy share an address, and the errors
        # of one must not lock out the others.
        _check_rate(self._requests.take(f"without a token from {_address(request)}"))


class TokenCache:
    """Reads tokens from the store and caches valid ones for a moment.

    While the store does not answer, the last known state counts.

    Args:
        store: Store with the tokens.
        lookup: Finds the token of a secret: its own, or that of a session.
    """

    def __init__(self, store: Store, lookup: Callable[[sa.Connection, str], Token | None]) -> None:
        self._store, self._lookup = store, lookup
        self._clock = time.monotonic
        self._known: dict[bytes, tuple[float, Token]] = {}
        self._empty_until = 0.0

    async def any(self) -> bool:
        """Return whether a token was ever created; revoked tokens count."""
        if self._clock() < self._empty_until:
            return False
        try:
            exists = bool(await run_in_threadpool(self._read, tokens.every))
        except StoreError:
            if self._empty_until:
                return False
            raise
        self._empty_until = 0.0 if exists else self._clock() + MAX_AGE
        return exists

    async def find(self, secret: str) -> Token | None:
        """Return the valid token of a secret."""
        if not 0 < len(secret) <= MAX_TOKEN:
            return None
        digest = secret_hash(secret)
        until, known = self._known.get(digest, (0.0, None))
        if self._clock() < until:
            return known
        try:
            token = await run_in_threadpool(self._read, lambda c: self._lookup(c, secret))
        except StoreError:
            if known is None:
                raise
            return known
        self._known.pop(digest, None)
        if token is not None:
            if len(self._known) >= CACHED_TOKENS:
                self._known.clear()
            self._known[digest] = (self._clock() + MAX_AGE, token)
        return token

    def _read(self, work: Callable[[sa.Connection], T]) -> T:
        with self._store.read() as connection:
            return work(connection)

    def clear(self) -> None:
        """Forget all tokens, so that they are read from the store again."""
        self._known.clear()
        self._empty_until = 0.0


def csrf_of(cookie: str) -> str:
    """Return what pages of a session send with each write: only they can know it."""
    return hmac.new(cookie.encode("utf-8", "surrogatepass"), b"csrf", "sha256").hexdigest()


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


def _trust_local(request: Request) -> Caller:
    """Trust callers on this machine: no other machine, and no proxy that serves another name."""
    if not (is_loopback(_address(request)) and is_loopback(host_name(request))):
        raise ApiError(
            401, "until a token is created, only this machine is served", headers=CHALLENGE
        )
    return LOCAL


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def check_host(request: Request, settings: Settings) -> None:
    """Refuse a request for a host that is not this service, or from a page of another site.

    Raises:
        ApiError: The Host header is unknown (421), or the Origin is another site (403).
    """
    host = request.headers.get("host", "")
    name = host_name(request)
    if not _is_known(name, settings):
        message = f"Host: {host!r:.60} is not this service; --allowed-host adds a name"
        raise ApiError(421, message)
    origin = request.headers.get("origin")
    if origin is not None and not _is_own(origin, request, settings):
        raise ApiError(403, "pages of another site may not use this service")


def host_name(request: Request) -> str:
    """Return the name or address in the Host header, without the port."""
    try:
        return urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    except ValueError:
        return ""


def _is_known(name: str, settings: Settings) -> bool:
    if is_loopback(name) or name in settings.allowed_hosts:
        return True
    return not settings.local and _ip_address(name) is not None


def _is_own(origin: str, request: Request, settings: Settings) -> bool:
    """Return whether an Origin is that of a page of this service.

    A proxy may replace the Host header, so the names of `allowed_hosts` count too. A proxy that is
    not trusted may have ended TLS: a page of https is always accepted. Anyone on the way to a
    browser can forge a page of http, so it is another site for a service with TLS.
    """
    try:
        parts = urlsplit(origin)
        same = parts.netloc.lower() == request.headers.get("host", "").lower()
        is_known = same or (parts.hostname or "") in settings.allowed_hosts
        return is_known and parts.scheme in ("https", request.url.scheme)
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine and reachable from it alone."""
    address = _ip_address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address in a Host header; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
