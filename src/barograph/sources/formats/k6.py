"""k6: the summary (`--summary-export`, handleSummary, the machine-readable one) and `--out json`.

Points are aggregated as k6 does for its summary, so both give the same series. Phases of a request
(blocked, sending, waiting) and counts that grow with the length of a test are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from barograph.results.fields import FieldError
from barograph.results.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.results.units import HIGHER, LOWER
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.json_text import Lines
from barograph.sources.formats.nodes import Node, each, records
from barograph.sources.report import Skip

PHASES = {
    f"http_req_{phase}"
    for phase in ("blocked", "connecting", "tls_handshaking", "sending", "receiving", "waiting")
}
LEFT_OUT = PHASES | {"data_sent", "data_received", "vus", "vus_max", "group_duration"}
TRENDS = ("med", "p(95)")
DEFAULT_TAG = ("expected_response", "true")  # every summary holds these requests a second time
# Rates whose direction is known: the share of failed requests, and of successful checks.
RATES = {"http_req_failed": LOWER, "checks": HIGHER, "dropped_iterations": LOWER}


def matches(file: InputFile) -> bool:
    """Whether the head has the keys of a summary or of a line of points."""
    keys = file.places
    if "/metadata/k6Version" in keys or {"/type", "/data", "/metric"} <= keys:
        return True
    roots = {"/root_group", "/state/testRunDurationMs", "/metrics/iterations", "/metrics/vus"}
    return "/metrics" in keys and not roots.isdisjoint(keys)


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the median and 95th percentile of times, and the rates."""
    summary = Node(file.json())
    if isinstance(summary.value, Lines) or not summary.mapping() or "metric" in summary:
        yield from _points(file)
        return
    time = UNKNOWN_TIME
    if "results" in summary:
        time = summary.get("metadata", {})["generatedAt"].time()
        metrics = list(summary["results"]["metrics"].entries())
    else:
        metrics = [
            Node(metric.mapping() | {"name": name}, metric.where)
            for name, metric in summary["metrics"].items()
        ]
    yield from each(file, metrics, partial(_metric, time))


def _metric(time: int, metric: Node) -> Iterator[Result]:
    """Read a metric: its values are in an object of their own, or beside its name."""
    values = metric["values"] if metric["values"].value is not None else metric
    yield from _values(metric["name"].text(), values, time, metric["contains"].value == "time")


def _values(full: str, values: Node, time: int, is_time: bool) -> Iterator[Result]:
    """Yield what is followed of a metric: of a trend two quantiles, of a counter its rate."""
    test, args = _identity(full)
    if test in LEFT_OUT or DEFAULT_TAG in args:
        return
    # The flat summary does not say what a trend contains.
    is_time = is_time or test.endswith("_duration")
    followed: list[tuple[str, str, str, Direction]] = []
    if "med" in values or "p(95)" in values:
        unit, better = ("ms", LOWER) if is_time else ("", Direction.UNKNOWN)
        followed = [(key, key, unit, better) for key in TRENDS if key in values]
    elif "count" in values and "rate" in values:
        better = HIGHER if test in ("http_reqs", "iterations") else RATES.get(test, Direction(0))
        followed = [("rate", "rate", "1/s", better)]
    elif "passes" in values or "matches" in values:
        key = "rate" if "rate" in values else "value"
        followed = [(key, "share", "", RATES.get(test, Direction.UNKNOWN))]
    for key, measurement, unit, better in followed:
        series = SeriesId("", "", "", test, measurement.replace("p(95)", "p95"), args)
        yield Result(series, values[key].number(), unit, better, time=time)


def _identity(full: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Split "http_req_duration{scenario:load}" into the metric and its tags."""
    test, brace, tags = full.partition("{")
    pairs = (tag.partition(":") for tag in tags.rstrip("}").split(",")) if brace else ()
    args = {key.strip(): value.strip() for key, _, value in pairs if key.strip()}
    return test.strip(), tuple(args.items())


class _Points(NamedTuple):
    """The points of one metric: their values and the times that are known."""

    kind: str
    is_time: bool
    values: list[float]
    times: list[int]


def _points(file: InputFile) -> Iterator[Result | Skip]:
    """Read the lines of `--out json`: declarations of metrics, and points."""
    metrics: dict[str, _Points] = {}

    def add(entry: Node) -> Iterator[Result]:
        if not entry.mapping():
            return
        name, data = entry["metric"].text(), entry["data"]
        if entry["type"].value == "Metric":
            is_time = data.get("contains", "").text() == "time"
            metrics[name] = _Points(data["type"].text(), is_time, [], [])
        elif name not in metrics:
            raise FieldError(entry["metric"].where, name, "was not declared")
        else:
            metrics[name].values.append(data["value"].number())
            metrics[name].times.append(data["time"].time())
        yield from ()

    yield from each(file, records(file), add)
    times = {time for points in metrics.values() for time in points.times} - {UNKNOWN_TIME}
    start, end = min(times, default=UNKNOWN_TIME), max(times, default=UNKNOWN_TIME)
    measured = (Node(points, name) for name, points in metrics.items() if points.values)
    yield from each(file, measured, partial(_aggregated, start, (end - start) / 1000))


def _aggregated(start: int, seconds: float, metric: Node) -> Iterator[Result]:
    points, name = metric.value, metric.where
    values = np.array(points.values)
    aggregates: dict[str, Any] = {}
    if points.kind == "trend":
        aggregates = {"med": float(np.median(values)), "p(95)": float(np.percentile(values, 95))}
    elif points.kind == "rate":
        aggregates = {"passes": 0, "rate": float((values != 0).mean())}
    elif points.kind == "counter" and seconds > 0:
        aggregates = {"count": 0, "rate": float(values.sum()) / seconds}
    yield from _values(name, Node(aggregates, name), start, points.is_time)


TITLE = "k6: k6 run --summary-export FILE, handleSummary, or --out json=FILE"
FORMAT = Format("k6", TITLE, "run", matches, read)
