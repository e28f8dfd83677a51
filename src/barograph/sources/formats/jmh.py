"""JMH: the JSON of `-rf json`.

The score of each fork is a run of the commit, so that the noise between forks is known; without
raw data the score itself is read. Mode sample also gives its 50th and 99th percentile. Of the
metrics of the garbage collector profiler only the allocation per operation is steady enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any

from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.formats.access import arguments, array, at, mapping, number, text
from barograph.sources.formats.base import Format, InputFile, Result, Sample
from barograph.sources.formats.entries import each, indexed
from barograph.sources.formats.outline import outline

PERCENTILES = {"50.0": "p50", "99.0": "p99"}
ALLOCATION = "gc.alloc.rate.norm"
MODES = ("thrpt", "avgt", "sample", "ss")


def matches(sample: Sample) -> bool:
    """Whether the head has the benchmark and the mode of a result."""
    return {"/*/benchmark", "/*/mode"} <= outline(sample)


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the score of each fork, percentiles of sampled times, and secondary metrics."""
    yield from each(file, indexed(array(file.json(), "(file)"), ""), _results)


def _results(entry: Any, where: str) -> Iterator[Result]:
    benchmark = mapping(entry, where)
    name = text(benchmark.get("benchmark"), at(where, "benchmark"))
    mode = text(benchmark.get("mode"), at(where, "mode"))
    params = mapping(benchmark.get("params") or {}, at(where, "params"))
    args = dict(arguments(params, at(where, "params")))
    threads = benchmark.get("threads")
    if type(threads) is int and threads > 1:
        args["threads"] = str(threads)
    task, _, test = name.rpartition(".")
    series = SeriesId("", "", task, test, mode, tuple(args.items()))
    primary = mapping(benchmark.get("primaryMetric"), at(where, "primaryMetric"))
    yield from _metric(primary, at(where, "primaryMetric"), series)
    if mode == "sample":
        yield from _percentiles(primary, at(where, "primaryMetric"), series)
    others = mapping(benchmark.get("secondaryMetrics") or {}, at(where, "secondaryMetrics"))
    for key, metric in others.items():
        label = text(key, at(where, "secondaryMetrics")).lstrip("\u00b7+").strip()
        if _is_followed(label, metric):
            place = at(at(where, "secondaryMetrics"), key)
            yield from _metric(mapping(metric, place), place, _renamed(series, label))


def _is_followed(label: str, metric: Any) -> bool:
    """Whether a secondary metric is worth a series: counters of the user and allocations."""
    if label.startswith(("gc.", "stack", "async", "jfr", "perfasm")):
        return label == ALLOCATION
    return isinstance(metric, dict) and type(metric.get("score")) in (int, float)


def _metric(metric: dict[str, Any], where: str, series: SeriesId) -> Iterator[Result]:
    unit = text(metric.get("scoreUnit"), at(where, "scoreUnit"))
    direction = _direction(unit, series.measurement)
    forks = _forks(metric, where)
    if not forks:
        place = at(where, "score")
        yield Result(series, number(metric.get("score"), place), place, unit, direction)
    for index, score in enumerate(forks):
        run = str(index) if len(forks) > 1 else ""
        yield Result(series, score, at(at(where, "rawData"), index), unit, direction, run=run)


def _forks(metric: dict[str, Any], where: str) -> list[float]:
    """Return the mean of each fork's iterations; empty if the file lacks any."""
    place = at(where, "rawData")
    forks = array(metric.get("rawData") or [], place)
    rows = [array(fork, at(place, index)) for index, fork in enumerate(forks)]
    if not rows or not all(rows):
        return []
    scores = (
        fmean(number(value, at(place, index)) for value in row) for index, row in enumerate(rows)
    )
    return [number(score, place) for score in scores]


def _percentiles(metric: dict[str, Any], where: str, series: SeriesId) -> Iterator[Result]:
    place = at(where, "scorePercentiles")
    percentiles = mapping(metric.get("scorePercentiles") or {}, place)
    unit = text(metric.get("scoreUnit"), at(where, "scoreUnit"))
    for key, name in PERCENTILES.items():
        if type(percentiles.get(key)) in (int, float):
            value = number(percentiles[key], at(place, key))
            better = Direction.LOWER_IS_BETTER
            yield Result(_renamed(series, name), value, at(place, key), unit, better)


def _renamed(series: SeriesId, measurement: str) -> SeriesId:
    return SeriesId("", "", series.task, series.test, measurement, series.args)


def _direction(unit: str, measurement: str) -> Direction:
    """Return the direction: operations per time are better if higher, time per operation not."""
    if unit.startswith("ops/"):
        return Direction.HIGHER_IS_BETTER
    if unit.endswith("/op") and (measurement in MODES or measurement == ALLOCATION):
        return Direction.LOWER_IS_BETTER
    return Direction.UNKNOWN


FORMAT = Format("jmh", "JMH: java -jar benchmarks.jar -rf json -rff FILE", "run", matches, read)
