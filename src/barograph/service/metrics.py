"""What Prometheus can ask: requests, points, decisions, the model."""

import math

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from barograph.store import IngestResult

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
MEDIA_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The counters of one service; nothing is shared between two in one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "barograph_http_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "barograph_http_request_seconds",
            "How long answers took.",
            ["route"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._points = Counter(
            "barograph_points",
            "Measurements by what became of them.",
            ["status"],
            registry=self._registry,
        )
        self._changes = Counter(
            "barograph_changes", "Points that were called a change.", registry=self._registry
        )
        self._refused = Counter(
            "barograph_models_refused", "Model files that were not taken.", registry=self._registry
        )
        self._model = Gauge(
            "barograph_model_info", "The model that decides.", ["version"], registry=self._registry
        )
        self._ready = Gauge(
            "barograph_ready", "Whether the service is ready.", registry=self._registry
        )
        self._up = Gauge(
            "barograph_store_up", "Whether the store answers.", registry=self._registry
        )
        self._waiting = Gauge(
            "barograph_series_waiting",
            "Series whose points changed and that wait for a look; NaN where nobody knows.",
            registry=self._registry,
        )

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def ingested(self, answer: IngestResult) -> None:
        """Count what became of a request's measurements."""
        for status, count in answer.counts.items():
            self._points.labels(status).inc(count)
        self._changes.inc(sum(bool(one.is_change) for one in answer.outcomes))

    def rejected(self, count: int) -> None:
        """Count measurements that never reached the store."""
        self._points.labels("rejected").inc(count)

    def model_taken(self, version: str) -> None:
        """Note which model decides from now on."""
        self._model.clear()
        self._model.labels(version).set(1)

    def model_refused(self) -> None:
        """Count a model that was not taken."""
        self._refused.inc()

    def store_answered(self, waiting: int) -> None:
        """Note how many series wait for a look."""
        self._waiting.set(waiting)
        self._up.set(1)
        self._ready.set(1)

    def store_failed(self) -> None:
        """Note that nothing can be decided or looked at."""
        self._waiting.set(math.nan)
        self._up.set(0)
        self._ready.set(0)

    def text(self) -> bytes:
        """Write everything as Prometheus reads it."""
        return generate_latest(self._registry)
