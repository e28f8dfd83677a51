"""JMH: the JSON of `-rf json`.

The score of each fork is a run of the commit, so that the noise between forks is known; without
raw data the score itself is read. Mode sample also gives its 50th and 99th percentile. Of the
metrics of the garbage collector profiler only the allocation per operation is steady enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean

from barograph.results.series import Direction, SeriesId
from barograph.results.units import HIGHER, LOWER
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.nodes import Node, each, has_places

PERCENTILES = {"50.0": "p50", "99.0": "p99"}
ALLOCATION = "gc.alloc.rate.norm"
PROFILERS = ("gc.", "stack", "async", "jfr", "perfasm")
TIMES = ("thrpt", "avgt", "sample", "ss", ALLOCATION)  # for which less per operation is better

matches = has_places({"/*/benchmark", "/*/mode"})


def read(file: InputFile) -> Items:
    """Yield the score of each fork, percentiles of sampled times, and secondary metrics."""
    yield from each(file, Node(file.json()).entries(), _results)


def _results(benchmark: Node) -> Iterator[Result]:
    task, _, test = benchmark["benchmark"].text().rpartition(".")
    mode, threads = benchmark["mode"].text(), benchmark["threads"].value
    args = dict(benchmark.get("params", {}).arguments())
    if type(threads) is int and threads > 1:
        args["threads"] = str(threads)
    series = SeriesId("", "", task, test, mode, tuple(args.items()))
    primary = benchmark["primaryMetric"]
    yield from _metric(primary, series)
    percentiles = primary.get("scorePercentiles", {}) if mode == "sample" else Node({})
    for key, name in PERCENTILES.items():
        if type(percentiles[key].value) in (int, float):
            named, value = replace(series, measurement=name), percentiles[key].number()
            yield Result(named, value, primary["scoreUnit"].text(), LOWER)
    for key, metric in benchmark.get("secondaryMetrics", {}).items():
        name = key.lstrip("\u00b7+").strip()
        if _is_followed(name, metric.value):
            yield from _metric(metric, replace(series, measurement=name))


def _is_followed(name: str, metric: object) -> bool:
    """Whether a secondary metric is worth a series: counters of the user and allocations."""
    if name.startswith(PROFILERS):
        return name == ALLOCATION
    return isinstance(metric, dict) and type(metric.get("score")) in (int, float)


def _metric(metric: Node, series: SeriesId) -> Iterator[Result]:
    """Yield the score of each fork, or the score of all where the file lacks any."""
    unit, direction = metric["scoreUnit"].text(), Direction.UNKNOWN
    if unit.startswith("ops/"):
        direction = HIGHER
    elif unit.endswith("/op") and series.measurement in TIMES:
        direction = LOWER
    forks = list(metric.get("rawData", []).entries())
    scores = [metric["score"]]
    if forks and all(fork.array() for fork in forks):
        means = (fmean([value.number() for value in fork.entries()]) for fork in forks)
        scores = [Node(mean, fork.where) for mean, fork in zip(means, forks, strict=True)]
    for index, score in enumerate(scores):
        run = str(index) if len(scores) > 1 else ""
        yield Result(series, score.number(), unit, direction, run=run)


FORMAT = Format("jmh", "JMH: java -jar benchmarks.jar -rf json -rff FILE", "run", matches, read)
