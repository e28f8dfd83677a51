"""Metrics for Prometheus: requests, points, changes, the model and the store."""

import math

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from barograph.server.store import IngestResult

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
MEDIA_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The metrics of one service; two services in one process share nothing."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._requests = Counter(
            "barograph_http_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "barograph_http_request_seconds",
            "Time to answer a request.",
            ["route"],
            buckets=BUCKETS,
            registry=registry,
        )
        self.points = Counter(
            "barograph_points", "Measurements by status.", ["status"], registry=registry
        )
        self._changes = Counter(
            "barograph_changes", "Commits that raised an alarm.", registry=registry
        )
        self.refused_models = Counter(
            "barograph_models_refused", "Model files that were refused.", registry=registry
        )
        self._model = Gauge(
            "barograph_model_info", "The model in use.", ["version"], registry=registry
        )
        self._ready = Gauge("barograph_ready", "Whether the service is ready.", registry=registry)
        self._up = Gauge("barograph_store_up", "Whether the store answers.", registry=registry)
        self._stale = Gauge(
            "barograph_series_waiting",
            "Series whose candidates are to be recomputed; NaN while the store does not answer.",
            registry=registry,
        )

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

    def set_model(self, version: str) -> None:
        """Set the version of the model in use."""
        self._model.clear()
        self._model.labels(version).set(1)

    def set_store(self, waiting: int | None) -> None:
        """Note how many series wait for a refresh; None while the store does not answer."""
        self._stale.set(math.nan if waiting is None else waiting)
        for gauge in (self._up, self._ready):
            gauge.set(waiting is not None)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)
