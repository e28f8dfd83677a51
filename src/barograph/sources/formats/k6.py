"""k6: the summary (`--summary-export`, handleSummary, the machine-readable one) and `--out json`.

Points are aggregated as k6 does for its summary, so both give the same series. Phases of a request
(blocked, sending, waiting) and counts that grow with the length of a test are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from barograph.results.fields import FieldError
from barograph.results.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.results.units import HIGHER, LOWER
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.json_text import Lines
from barograph.sources.formats.nodes import Node, each, has_places, records

PHASES = ("blocked", "connecting", "tls_handshaking", "sending", "receiving", "waiting")
TOTALS = ("data_sent", "data_received", "vus", "vus_max", "group_duration")
LEFT_OUT = {*TOTALS, *(f"http_req_{phase}" for phase in PHASES)}
TRENDS = {"med": "med", "p(95)": "p95"}
DEFAULT_TAG = ("expected_response", "true")  # every summary holds these requests a second time
# Rates whose direction is known: those of requests, and the shares of failures and of checks.
RATES = {
    "http_reqs": HIGHER,
    "iterations": HIGHER,
    "checks": HIGHER,
    "http_req_failed": LOWER,
    "dropped_iterations": LOWER,
}
ROOTS = ("/root_group", "/state/testRunDurationMs", "/metrics/iterations", "/metrics/vus")


matches = has_places(
    *({"/metadata/k6Version"}, {"/type", "/data", "/metric"}),
    *({"/metrics", root} for root in ROOTS),
)


def read(file: InputFile) -> Items:
    """Yield the median and 95th percentile of times, and the rates."""
    summary, time = Node(file.json()), UNKNOWN_TIME
    if isinstance(summary.value, Lines) or not summary.mapping() or "metric" in summary:
        metrics: dict[str, dict[str, Any]] = {}
        yield from each(file, records(file), partial(_add, metrics))
        times = {at for metric in metrics.values() for at in metric["times"]} - {UNKNOWN_TIME}
        time = min(times, default=UNKNOWN_TIME)
        seconds = (max(times, default=time) - time) / 1000
        entries = [
            Node(metric | {"values": _aggregated(metric, seconds)}, name)
            for name, metric in metrics.items()
            if metric["points"]
        ]
    elif "results" in summary:
        time = summary.get("metadata", {})["generatedAt"].time()
        entries = list(summary["results"]["metrics"].entries())
    else:
        entries = [
            Node(metric.mapping() | {"name": name}, metric.where)
            for name, metric in summary["metrics"].items()
        ]
    yield from each(file, entries, partial(_metric, time))


def _add(metrics: dict[str, dict[str, Any]], line: Node) -> Iterator[Result]:
    """Add a line of `--out json`: the declaration of a metric, or a point."""
    if not line.mapping():
        return
    name, data = line["metric"].text(), line["data"]
    if line["type"].value == "Metric":
        stated = {"type": data["type"].text(), "contains": data.get("contains", "").text()}
        metrics[name] = {"name": name, **stated, "points": [], "times": []}
    elif name not in metrics:
        raise FieldError(line["metric"].where, name, "was not declared")
    else:
        metrics[name]["points"].append(data["value"].number())
        metrics[name]["times"].append(data["time"].time())
    yield from ()


def _aggregated(metric: dict[str, Any], seconds: float) -> dict[str, float]:
    """Return the values that the summary of a test of some seconds has of a metric."""
    points = np.array(metric["points"])
    if metric["type"] == "trend":
        return {"med": float(np.median(points)), "p(95)": float(np.percentile(points, 95))}
    if metric["type"] == "rate":
        return {"passes": 0, "rate": float((points != 0).mean())}
    if metric["type"] == "counter" and seconds > 0:
        return {"count": 0, "rate": float(points.sum()) / seconds}
    return {}


def _metric(time: int, metric: Node) -> Iterator[Result]:
    """Yield what is followed of a metric: of a trend two quantiles, of a counter its rate."""
    values = metric["values"] if metric["values"].value is not None else metric
    test, args = _identity(metric["name"].text())
    if test in LEFT_OUT or DEFAULT_TAG in args:
        return
    unit, followed, better = "", {}, RATES.get(test, Direction.UNKNOWN)
    if "med" in values or "p(95)" in values:
        followed = {key: name for key, name in TRENDS.items() if key in values}
        # The flat summary does not say what a trend contains.
        is_time = metric["contains"].value == "time" or test.endswith("_duration")
        unit, better = ("ms", LOWER) if is_time else ("", Direction.UNKNOWN)
    elif "count" in values and "rate" in values:
        unit, followed = "1/s", {"rate": "rate"}
    elif "passes" in values or "matches" in values:
        followed = {"rate" if "rate" in values else "value": "share"}
    for key, measurement in followed.items():
        series = SeriesId("", "", "", test, measurement, args)
        yield Result(series, values[key].number(), unit, better, time=time)


def _identity(full: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Split "http_req_duration{scenario:load}" into the metric and its tags."""
    test, brace, tags = full.partition("{")
    pairs = (tag.partition(":") for tag in tags.rstrip("}").split(",")) if brace else ()
    args = {key.strip(): value.strip() for key, _, value in pairs if key.strip()}
    return test.strip(), tuple(args.items())


TITLE = "k6: k6 run --summary-export FILE, handleSummary, or --out json=FILE"
FORMAT = Format("k6", TITLE, "run", matches, read)
