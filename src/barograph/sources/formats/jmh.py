"""JMH: the JSON of `-rf json`.

The score of each fork is a run of the commit, so that the noise between forks is known; without
raw data the score itself is read. Mode sample also gives its 50th and 99th percentile. Of the
metrics of the garbage collector profiler only the allocation per operation is steady enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.entries import HIGHER, LOWER, each, has_places
from barograph.sources.formats.nodes import Node, array
from barograph.sources.formats.numbers import number

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
        metric = others[key]
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
    forks = _forks(metric) or [metric["score"].measured()]
    for index, (score, where) in enumerate(forks):
        run = str(index) if len(forks) > 1 else ""
        yield Result(series, score, where, unit, direction, run=run)


def _forks(metric: Node) -> list[tuple[float, str]]:
    """Return the mean of each fork's iterations; empty if the file lacks any."""
    forks = list(metric.get("rawData", []).entries())
    rows = [array(fork.value, fork.where) for fork in forks]
    if not all(rows):
        return []
    means = [fmean([number(value, fork.where) for value in fork.value]) for fork in forks]
    return [(number(mean, fork.where), fork.where) for mean, fork in zip(means, forks, strict=True)]


def _percentiles(metric: Node, series: SeriesId) -> Iterator[Result]:
    percentiles = metric.get("scorePercentiles", {})
    unit = metric["scoreUnit"].text()
    for key, name in PERCENTILES.items():
        percentile = percentiles[key]
        if type(percentile.value) in (int, float):
            yield Result(_renamed(series, name), *percentile.measured(), unit, LOWER)


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
