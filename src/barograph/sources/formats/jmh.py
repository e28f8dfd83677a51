"""JMH: the JSON of `-rf json`.

The score of each fork is a run of the commit, so that the noise between forks is known; without
raw data the score itself is read. Mode sample also gives its 50th and 99th percentile. Of the
metrics of the garbage collector profiler only the allocation per operation is steady enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from barograph.results.series import Direction, SeriesId
from barograph.results.units import HIGHER, LOWER
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.nodes import Node, each, has_places
from barograph.sources.report import Skip

PERCENTILES = {"50.0": "p50", "99.0": "p99"}
ALLOCATION = "gc.alloc.rate.norm"
MODES = ("thrpt", "avgt", "sample", "ss")

matches = has_places({"/*/benchmark", "/*/mode"})


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
    for key, metric in benchmark.get("secondaryMetrics", {}).items():
        name = key.lstrip("\u00b7+").strip()
        if _is_followed(name, metric.value):
            yield from _metric(metric, _renamed(series, name))


def _is_followed(name: str, metric: object) -> bool:
    """Whether a secondary metric is worth a series: counters of the user and allocations."""
    if name.startswith(("gc.", "stack", "async", "jfr", "perfasm")):
        return name == ALLOCATION
    return isinstance(metric, dict) and type(metric.get("score")) in (int, float)


def _metric(metric: Node, series: SeriesId) -> Iterator[Result]:
    unit = metric["scoreUnit"].text()
    direction = _direction(unit, series.measurement)
    forks = _forks(metric) or [metric["score"].number()]
    for index, score in enumerate(forks):
        run = str(index) if len(forks) > 1 else ""
        yield Result(series, score, unit, direction, run=run)


def _forks(metric: Node) -> list[float]:
    """Return the mean of each fork's iterations; empty if the file lacks any."""
    forks = list(metric.get("rawData", []).entries())
    if not all(fork.array() for fork in forks):
        return []
    means = (fmean([value.number() for value in fork.entries()]) for fork in forks)
    return [Node(mean, fork.where).number() for mean, fork in zip(means, forks, strict=True)]


def _percentiles(metric: Node, series: SeriesId) -> Iterator[Result]:
    percentiles = metric.get("scorePercentiles", {})
    unit = metric["scoreUnit"].text()
    for key, name in PERCENTILES.items():
        percentile = percentiles[key]
        if type(percentile.value) in (int, float):
            yield Result(_renamed(series, name), percentile.number(), unit, LOWER)


def _renamed(series: SeriesId, measurement: str) -> SeriesId:
    return SeriesId("", "", series.task, series.test, measurement, series.args)


def _direction(unit: str, measurement: str) -> Direction:
    """Return the direction: operations per time are better if higher, time per operation not."""
    if unit.startswith("ops/"):
        return HIGHER
    if unit.endswith("/op") and (measurement in MODES or measurement == ALLOCATION):
        return LOWER
    return Direction.UNKNOWN


FORMAT = Format("jmh", "JMH: java -jar benchmarks.jar -rf json -rff FILE", "run", matches, read)
