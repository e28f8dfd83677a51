"""Who may call: tokens and sessions with scopes, rate limits, known hosts, and the local machine.

A name that an attacker controls can point to this machine, so a page of theirs would be of one
origin with the service. Therefore the service knows its own names. An address cannot be pointed
elsewhere, so any address is accepted, unless the service trusts all callers of this machine.
"""

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

    Valid tokens are cached for a moment. While the store does not answer, the last known state
    counts.

    Args:
        store: Store with the tokens.
        settings: Limits of the service.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._requests = RateLimiter(settings.rate, settings.burst)
        self._clock = time.monotonic
        self._known: dict[object, tuple[float, object]] = {}

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
        self._requests.check(caller.name)
        return caller

    async def sign_in(self, request: Request, secret: str) -> Token:
        """Return the token that a person signs in with.

        Raises:
            ApiError: The token is unknown (401), or it sends too much, or there were too many
                wrong ones (429).
        """
        if (token := await self._find(secret.strip(), tokens.find)) is None:
            raise self._refusal(request, "unknown token")
        self._requests.check(token.name)
        return token

    async def has_tokens(self) -> bool:
        """Return whether a token was ever created; revoked tokens count."""
        return not await self._cached("no tokens", lambda c: not tokens.every(c))

    def forget(self) -> None:
        """Ask the store again for all tokens and sessions."""
        self._known.clear()

    async def _authenticate(self, request: Request) -> Caller:
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        cookie = request.cookies.get(COOKIE, "")
        if scheme:
            token = await self._find(secret.strip(), tokens.find)
            if token is not None and scheme.lower() == "bearer":
                return Caller(token.name, token.scopes)
            raise self._refusal(request, "unknown token")
        if cookie and (token := await self._find(cookie, tokens.session_token)):
            csrf = csrf_of(cookie)
            sent = request.headers.get(CSRF, "").encode("latin-1")
            if request.method not in READING and not hmac.compare_digest(sent, csrf.encode()):
                raise ApiError(403, f"the header {CSRF} is missing or old; reload the page")
            return Caller(token.name, token.scopes, csrf)
        if self._settings.local and not await self.has_tokens():
            # Not another machine, and no proxy that serves another name.
            if is_loopback(_address(request)) and is_loopback(host_name(request)):
                return LOCAL
            message = "until a token is created, only this machine is served"
            raise ApiError(401, message, headers=CHALLENGE)
        ended = "the session has ended; sign in again"
        raise self._refusal(request, ended if cookie else "a token is required")

    def _refusal(self, request: Request, message: str) -> ApiError:
        """Return the answer to a caller without a valid token, whose address has a limit.

        Valid tokens have a limit each: clients behind one proxy share an address, and the errors
        of one must not lock out the others.
        """
        self._requests.check(f"without a token from {_address(request)}")
        return ApiError(401, message, headers=CHALLENGE)

    async def _find(
        self, secret: str, lookup: Callable[[sa.Connection, str], Token | None]
    ) -> Token | None:
        """Return the valid token of a secret: its own, or that of a session."""
        if not 0 < len(secret) <= MAX_TOKEN:
            return None
        return await self._cached((lookup, secret_hash(secret)), lambda c: lookup(c, secret))

    def _read(self, lookup: Callable[[sa.Connection], T]) -> T:
        with self._store.read() as connection:
            return lookup(connection)

    async def _cached(self, key: object, lookup: Callable[[sa.Connection], T]) -> T:
        """Return what the store holds; what is found is cached."""
        until, known = self._known.get(key, (0.0, None))
        if self._clock() < until:
            return known  # type: ignore[return-value]

        try:
            found = await run_in_threadpool(self._read, lookup)
        except StoreError:
            if known is None:
                raise
            return known  # type: ignore[return-value]
        self._known.pop(key, None)
        if found:
            if len(self._known) >= CACHED_TOKENS:
                self._known.clear()
            self._known[key] = (self._clock() + MAX_AGE, found)
        return found


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
        self._rate, self._burst, self._clock = rate, float(burst), clock
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

    def check(self, caller: str) -> None:
        """Take one request from a bucket.

        Raises:
            ApiError: The bucket is empty (429).
        """
        if wait := self.take(caller):
            retry = {"Retry-After": str(math.ceil(wait))}
            raise ApiError(429, f"too many requests; try again in {wait:.3g} s", headers=retry)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def check_host(request: Request, settings: Settings) -> None:
    """Refuse a request for a host that is not this service, or from a page of another site.

    Raises:
        ApiError: The Host header is unknown (421), or the Origin is another site (403).
    """
    name, host = host_name(request), request.headers.get("host", "")
    is_named = is_loopback(name) or name in settings.allowed_hosts
    if not (is_named or (not settings.local and _ip_address(name) is not None)):
        message = f"Host: {host!r:.60} is not this service; --allowed-host adds a name"
        raise ApiError(421, message)
    if (origin := request.headers.get("origin")) is None:
        return
    # A proxy may replace the Host header, so the allowed hosts count, too. A proxy that is not
    # trusted may have ended TLS: a page of https is always accepted. Anyone on the way to a browser
    # can forge a page of http, so it is another site for a service with TLS.
    try:
        parts = urlsplit(origin)
        is_known = parts.netloc.lower() == host.lower() or parts.hostname in settings.allowed_hosts
    except ValueError:
        is_known = False
    if not is_known or parts.scheme not in ("https", request.url.scheme):
        raise ApiError(403, "pages of another site may not use this service")


def host_name(request: Request) -> str:
    """Return the name or address in the Host header, without the port."""
    try:
        return urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    except ValueError:
        return ""


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
