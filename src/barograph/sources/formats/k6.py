"""k6: the summary (`--summary-export`, handleSummary, the machine-readable one) and `--out json`.

Points are aggregated as k6 does for its summary, so both give the same series. Phases of a request
(blocked, sending, waiting) and counts that grow with the length of a test are left out.
"""

from __future__ import annotations

from array import array as packed
from collections.abc import Iterator
from typing import Any

import numpy as np

from barograph.errors import DataError
from barograph.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import array, at, mapping, number, text, time_ms
from barograph.sources.formats.base import (
    EndsEarlyError,
    Format,
    InputFile,
    Result,
    Sample,
    decode_json,
)
from barograph.sources.formats.entries import each, indexed, lines_of
from barograph.sources.formats.outline import outline

LOWER, HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER
PHASES = {
    f"http_req_{phase}"
    for phase in ("blocked", "connecting", "tls_handshaking", "sending", "receiving", "waiting")
}
LEFT_OUT = PHASES | {"data_sent", "data_received", "vus", "vus_max", "group_duration"}
TRENDS = ("med", "p(95)")
DEFAULT_TAG = ("expected_response", "true")  # every summary holds these requests a second time
# Rates whose direction is known: the share of failed requests, and of successful checks.
RATES = {"http_req_failed": LOWER, "checks": HIGHER, "dropped_iterations": LOWER}


def matches(sample: Sample) -> bool:
    """Whether the head has the keys of a summary or of a line of points."""
    keys = outline(sample)
    if "/metadata/k6Version" in keys or {"/type", "/data", "/metric"} <= keys:
        return True
    roots = {"/root_group", "/state/testRunDurationMs", "/metrics/iterations", "/metrics/vus"}
    return "/metrics" in keys and not roots.isdisjoint(keys)


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the median and 95th percentile of times, and the rates."""
    try:
        document = mapping(file.json(), "")
    except EndsEarlyError:
        raise
    except DataError:  # lines of points
        document = {}
    if not document or "metric" in document:
        yield from _points(file)
        return
    time = UNKNOWN_TIME
    if "results" in document:
        results = mapping(document["results"], "results")
        metadata = mapping(document.get("metadata") or {}, "metadata")
        time = time_ms(metadata.get("generatedAt"), "metadata.generatedAt")
        rows = array(results.get("metrics"), "results.metrics")
        entries = list(indexed(rows, "results.metrics"))
    else:
        metrics = mapping(document.get("metrics"), "metrics")
        rows = [mapping(row, at("metrics", name)) | {"name": name} for name, row in metrics.items()]
        entries = [(at("metrics", row["name"]), row) for row in rows]
    yield from each(file, entries, lambda entry, where: _metric(entry, where, time))


def _metric(entry: Any, where: str, time: int) -> Iterator[Result]:
    """Read a metric: its values are in an object of their own, or beside its name."""
    metric = mapping(entry, where)
    full = text(metric.get("name"), at(where, "name"))
    values = mapping(metric.get("values", metric), at(where, "values"))
    yield from _values(full, values, where, time, metric.get("contains") == "time")


def _values(
    full: str, values: dict[str, Any], where: str, time: int, is_time: bool
) -> Iterator[Result]:
    """Yield what is followed of a metric: of a trend two quantiles, of a counter its rate."""
    test, args = _identity(full)
    if test in LEFT_OUT or DEFAULT_TAG in args:
        return
    # The flat summary does not say what a trend contains.
    is_time = is_time or test.endswith("_duration")
    found: list[tuple[str, str, str, Direction]] = []
    if "med" in values or "p(95)" in values:
        unit, better = ("ms", LOWER) if is_time else ("", Direction.UNKNOWN)
        found = [(key, key, unit, better) for key in TRENDS if key in values]
    elif "count" in values and "rate" in values:
        better = HIGHER if test in ("http_reqs", "iterations") else RATES.get(test, Direction(0))
        found = [("rate", "rate", "1/s", better)]
    elif "passes" in values or "matches" in values:
        key = "rate" if "rate" in values else "value"
        found = [(key, "share", "", RATES.get(test, Direction.UNKNOWN))]
    for key, measurement, unit, better in found:
        series = SeriesId("", "", "", test, measurement.replace("p(95)", "p95"), args)
        place = at(where, key)
        yield Result(series, number(values.get(key), place), place, unit, better, time=time)


def _identity(full: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Split "http_req_duration{scenario:load}" into the metric and its tags."""
    test, brace, tags = full.partition("{")
    pairs = (tag.partition(":") for tag in tags.rstrip("}").split(",")) if brace else ()
    args = {key.strip(): value.strip() for key, _, value in pairs if key.strip()}
    return test.strip(), tuple(args.items())


class _Points:
    """The points of one metric."""

    def __init__(self, kind: str, contains: str) -> None:
        self.kind, self.is_time = kind, contains == "time"
        self.values = packed("d")
        self.first, self.last = UNKNOWN_TIME, UNKNOWN_TIME

    def add(self, value: float, time: int) -> None:
        """Add a point."""
        self.values.append(value)
        if time != UNKNOWN_TIME:
            self.first = time if self.first == UNKNOWN_TIME else min(self.first, time)
            self.last = max(self.last, time)


def _points(file: InputFile) -> Iterator[Result | Skip]:
    """Read the lines of `--out json`: declarations of metrics, and points."""
    metrics: dict[str, _Points] = {}

    def add(line: str, where: str) -> Iterator[Result]:
        entry = mapping(decode_json(line, f"{file.name}: {where}"), where) if line.strip() else {}
        if not entry:
            return
        name = text(entry.get("metric"), f"{where}: metric")
        data = mapping(entry.get("data"), f"{where}: data")
        if entry.get("type") == "Metric":
            kind = text(data.get("type"), f"{where}: type")
            metrics[name] = _Points(kind, text(data.get("contains") or "", f"{where}: contains"))
        elif name not in metrics:
            raise FieldError(f"{where}: metric", name, "was not declared")
        else:
            value = number(data.get("value"), f"{where}: value")
            metrics[name].add(value, time_ms(data.get("time"), f"{where}: time"))
        yield from ()

    yield from each(file, lines_of(file, file.options.max_bytes), add)
    start = min(
        (points.first for points in metrics.values() if points.first != UNKNOWN_TIME),
        default=UNKNOWN_TIME,
    )
    end = max((points.last for points in metrics.values()), default=UNKNOWN_TIME)
    found = ((name, points) for name, points in metrics.items() if points.values)
    seconds = (end - start) / 1000
    yield from each(file, found, lambda points, name: _aggregated(name, points, start, seconds))


def _aggregated(name: str, points: _Points, start: int, seconds: float) -> Iterator[Result]:
    values = np.frombuffer(points.values)
    aggregates: dict[str, Any] = {}
    if points.kind == "trend":
        aggregates = {"med": float(np.median(values)), "p(95)": float(np.percentile(values, 95))}
    elif points.kind == "rate":
        aggregates = {"passes": 0, "rate": float((values != 0).mean())}
    elif points.kind == "counter" and seconds > 0:
        aggregates = {"count": 0, "rate": float(values.sum()) / seconds}
    yield from _values(name, aggregates, name, start, points.is_time)


TITLE = "k6: k6 run --summary-export FILE, handleSummary, or --out json=FILE"
FORMAT = Format("k6", TITLE, "run", matches, read)
