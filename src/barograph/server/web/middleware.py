"""The outermost layer: security headers, unexpected errors, and metrics for Prometheus."""

import logging
import math
import time
from collections.abc import Awaitable, Callable
from functools import partial

from fastapi import Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from barograph.server.store import IngestResult

LOG = logging.getLogger(__name__)
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
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


class Metrics:
    """The metrics of one service; two services in one process share nothing."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, namespace="barograph", registry=self.registry)
        gauge = partial(Gauge, namespace="barograph", registry=self.registry)
        labels = ["method", "route", "status"]
        self._requests = counter("http_requests", "Requests answered.", labels)
        self._seconds = Histogram(
            *("barograph_http_request_seconds", "Time to answer a request.", ["route"]),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.points = counter("points", "Measurements by status.", ["status"])
        self._changes = counter("changes", "Commits that raised an alarm.")
        self.refused_models = counter("models_refused", "Model files that were refused.")
        self.model = gauge("model_info", "The model in use.", ["version"])
        self._ready = gauge("ready", "Whether the service is ready.")
        self._up = gauge("store_up", "Whether the store answers.")
        text = "Series whose candidates are to be recomputed; NaN while the store does not answer."
        self._stale = gauge("series_waiting", text)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def count_points(self, result: IngestResult) -> None:
        """Count the measurements of one ingested request."""
        for status, count in result.counts.items():
            self.points.labels(status).inc(count)
        changes = {(point.series, point.order) for point in result.points if point.is_change}
        self._changes.inc(len(changes))

    def set_store(self, waiting: int | None) -> None:
        """Note how many series wait for a refresh; None while the store does not answer."""
        self._stale.set(math.nan if waiting is None else waiting)
        for gauge in (self._up, self._ready):
            gauge.set(waiting is not None)


class ServiceMiddleware:
    """Adds security headers, answers unexpected errors, and counts requests.

    Args:
        app: The app inside.
        metrics: Counts the requests.
        answer_error: Returns the answer to an error.
    """

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        answer_error: Callable[[Request, Exception], Awaitable[Response]],
    ) -> None:
        self._app, self._metrics, self._answer_error = app, metrics, answer_error

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
            answer = await self._answer_error(Request(scope), error)
            await answer(scope, receive, send_with_headers)
        finally:
            method = method if method in METHODS else "other"
            # The path of the route, never what the sender typed: that could be anything.
            route = getattr(scope.get("route"), "path", "none")
            self._metrics.count_request(method, route, status, time.perf_counter() - start)
