"""Around everything: strict headers, one answer for what nobody foresaw, and the time it took."""

import time
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from barograph.service.errors import unexpected
from barograph.service.metrics import Metrics

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "Strict-Transport-Security": "max-age=31536000",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Shield:
    """The outermost layer of the app."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = shielded(message.get("headers", ()))
            await send(message)

        try:
            await self._app(scope, receive, sent)
        except Exception as error:
            if status:  # half an answer is out: only a broken connection can tell
                raise
            await unexpected(error)(scope, receive, sent)
        finally:
            method = scope["method"] if scope["method"] in _METHODS else "other"
            seconds = time.perf_counter() - begun
            self._metrics.answered(method, _route(scope), status, seconds)


RAW = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


def shielded(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer, and each of ours that it does not have."""
    own = list(headers)
    there = {name for name, _ in own}
    return own + [pair for pair in RAW if pair[0] not in there]


_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


def _route(scope: Scope) -> str:
    """The route's own text, never what a sender typed: that could be anything."""
    return getattr(scope.get("route"), "path", "none")
