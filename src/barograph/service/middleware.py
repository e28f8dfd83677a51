"""The outermost layer: security headers, unexpected errors, and request metrics."""

import time
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from barograph.service.metrics import Metrics
from barograph.service.responses import error_response, internal_error

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
RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class ServiceMiddleware:
    """Adds security headers, answers unexpected errors, and counts requests."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = with_security_headers(message.get("headers", ()))
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:
            if status:  # the answer has begun: only closing the connection can signal the error
                raise
            await internal_error(error)(scope, receive, send_with_headers)
        finally:
            method = scope["method"] if scope["method"] in METHODS else "other"
            # The path of the route, never what the sender typed: that could be anything.
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.count_request(method, route, status, time.perf_counter() - start)


def with_security_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with the security headers that it lacks."""
    own = list(headers)
    names = {name for name, _ in own}
    return own + [pair for pair in RAW_HEADERS if pair[0] not in names]


class Protocol(HttpToolsProtocol):
    """Uvicorn's compiled HTTP protocol with errors in the shape of all other errors."""

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP; they never reach the app."""
        answer = error_response(400, msg, headers={"Connection": "close"})
        headers = b"".join(b"%s: %s\r\n" % h for h in with_security_headers(answer.raw_headers))
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n%s\r\n%s" % (headers, answer.body))
        self.transport.close()
