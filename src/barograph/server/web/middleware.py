"""The outermost layer: security headers, unexpected errors, and request metrics."""

import logging
import time

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from barograph.server.web.metrics import Metrics
from barograph.server.web.responses import error_response, problem

LOG = logging.getLogger(__name__)
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",  # with "no-referrer" forms would send the Origin "null"
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
        start, status, method = time.perf_counter(), 0, scope["method"]
        if method == "HEAD":  # the server leaves out the body of the answer
            scope = {**scope, "method": "GET"}

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ())]
                names = {name for name, _ in headers}
                message["headers"] = headers + [h for h in RAW_HEADERS if h[0] not in names]
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            LOG.debug("%s %s: the client hung up", method, scope["path"])
        except Exception as error:
            if status:  # the answer has begun: only closing the connection can signal the error
                raise
            failed, message, _ = problem(error)
            await error_response(failed, message)(scope, receive, send_with_headers)
        finally:
            method = method if method in METHODS else "other"
            # The path of the route, never what the sender typed: that could be anything.
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.count_request(method, route, status, time.perf_counter() - start)
