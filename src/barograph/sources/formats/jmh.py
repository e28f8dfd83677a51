"""JMH: the JSON of `-rf json`.

The score of each fork is a run of the commit, so that the noise between forks is known; without
raw data the score itself is read. Mode sample also gives its 50th and 99th percentile. Of the
metrics of the garbage collector profiler only the allocation per operation is steady enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean

from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.formats.access import array, number
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.entries import HIGHER, LOWER, each, has_places
from barograph.sources.formats.nodes import Node

PERCENTILES = {"50.0": "p50", "99.0": "p99"}
ALLOCATION = "gc.alloc.rate.norm"
MODES = ("thrpt", "avgt", "sample", "ss")

matches = has_places("/*/benchmark", "/*/mode")


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the score of each fork, percentiles of sampled times, and secondary metrics."""
    yield from each(file, Node(file.json()).entries(), _results)


def _results(benchmark: Node) -> Iterator[Result]:
    task, _, test = benchmark["benchmark"].text().rpartition(".")
    mode = benchmark["mode"].text()
    args = dict(benchmark.get("params", {}).arguments())
    threads = benchmark["threads"].value
    if type(threads) is int and threads > 1:
        args["threads"] = str(threads)
    series = SeriesId("", "", task, test, mode, tuple(args.items()))
    primary = benchmark["primaryMetric"]
    yield from _metric(primary, series)
    if mode == "sample":
        yield from _percentiles(primary, series)
    others = benchmark.get("secondaryMetrics", {})
    for key in others.mapping():
        name = Node(key, others.where).text().lstrip("\u00b7+").strip()
        if _is_followed(name, others[key].value):
            yield from _metric(others[key], replace(series, measurement=name))


def _is_followed(name: str, metric: object) -> bool:
    """Whether a secondary metric is worth a series: counters of the user and allocations."""
    if name.startswith(("gc.", "stack", "async", "jfr", "perfasm")):
        return name == ALLOCATION
    return isinstance(metric, dict) and type(metric.get("score")) in (int, float)


def _metric(metric: Node, series: SeriesId) -> Iterator[Result]:
    unit = metric["scoreUnit"].text()
    direction = _direction(unit, series.measurement)
    forks = _forks(metric)
    for index, score in enumerate(forks or [metric["score"]]):
        run = str(index) if len(forks) > 1 else ""
        yield Result(series, *score.measured(), unit, direction, run=run)


def _forks(metric: Node) -> list[Node]:
    """Return the mean of each fork's iterations; empty if the file lacks any."""
    forks = list(metric.get("rawData", []).entries())
    rows = [array(fork.value, fork.where) for fork in forks]
    if not all(rows):
        return []
    means = [fmean(number(value, fork.where) for value in fork.value) for fork in forks]
    return [Node(mean, fork.where) for mean, fork in zip(means, forks, strict=True)]


def _percentiles(metric: Node, series: SeriesId) -> Iterator[Result]:
    percentiles = metric.get("scorePercentiles", {})
    unit = metric["scoreUnit"].text()
    for key, name in PERCENTILES.items():
        if type(percentiles[key].value) in (int, float):
            renamed = replace(series, measurement=name)
            yield Result(renamed, *percentiles[key].measured(), unit, LOWER)


def _direction(unit: str, measurement: str) -> Direction:
    """Return the direction: operations per time are better if higher, time per operation not."""
    if unit.startswith("ops/"):
        return HIGHER
    if unit.endswith("/op") and (measurement in MODES or measurement == ALLOCATION):
        return LOWER
    return Direction.UNKNOWN


FORMAT = Format("jmh", "JMH: java -jar benchmarks.jar -rf json -rff FILE", "run", matches, read)
