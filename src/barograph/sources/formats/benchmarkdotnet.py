"""BenchmarkDotNet: the JSON exporters, full and brief; all times are nanoseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from barograph.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import EPOCH, MILLISECOND, FieldError
from barograph.sources.formats.access import array, at, mapping, number, text
from barograph.sources.formats.base import Format, InputFile, Result, Sample
from barograph.sources.formats.entries import each, indexed
from barograph.sources.formats.outline import outline

TITLE_TIME = re.compile(r".*-(\d{8}-\d{6})", re.DOTALL)
JOB = re.compile(r": [\w.-]+\(([^()\[\]]+)\)")  # "Sort.Quick: Job-XYZ(Runtime=.NET 8.0) [N=10]"


def matches(sample: Sample) -> bool:
    """Whether the head has the environment that every exporter writes first."""
    return "/HostEnvironmentInfo" in outline(sample)


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the median of each benchmark, and its allocated bytes."""
    document = mapping(file.json(), "")
    time = _time(text(document.get("Title") or "", "Title"))
    entries = indexed(array(document.get("Benchmarks"), "Benchmarks"), "Benchmarks")
    yield from each(file, entries, lambda entry, where: _results(entry, where, time))


def _time(title: str) -> int:
    """Return the time that the title of a report ends with, taken as UTC."""
    found = TITLE_TIME.fullmatch(title)
    if not found:
        return UNKNOWN_TIME
    try:
        moment = datetime.strptime(found[1], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return UNKNOWN_TIME
    return (moment - EPOCH) // MILLISECOND


def _results(entry: Any, where: str, time: int) -> Iterator[Result]:
    benchmark = mapping(entry, where)
    if benchmark.get("Statistics") is None:
        raise FieldError(at(where, "Statistics"), None, "the benchmark failed")
    statistics = mapping(benchmark["Statistics"], at(where, "Statistics"))
    series = _series(benchmark, where)
    place = at(where, "Statistics.Median")
    yield _result(series, "median", number(statistics.get("Median"), place), place, "ns", time)
    memory = mapping(benchmark.get("Memory") or {}, at(where, "Memory"))
    key = "BytesAllocatedPerOperation"
    if memory.get(key) is not None:
        place = at(at(where, "Memory"), key)
        yield _result(series, "allocated", number(memory[key], place), place, "B", time)


def _result(series: SeriesId, name: str, value: float, where: str, unit: str, time: int) -> Result:
    named = SeriesId("", series.variant, series.task, series.test, name, series.args)
    return Result(named, value, where, unit, Direction.LOWER_IS_BETTER, time=time)


def _series(benchmark: dict[str, Any], where: str) -> SeriesId:
    """Return the identity; jobs that differ, such as two runtimes, are two variants."""
    space = text(benchmark.get("Namespace") or "", at(where, "Namespace"))
    kind = text(benchmark.get("Type") or "", at(where, "Type"))
    method = text(benchmark.get("Method"), at(where, "Method"))
    shown = text(benchmark.get("DisplayInfo") or "", at(where, "DisplayInfo"))
    job = JOB.search(shown[:2_000])
    parameters = text(benchmark.get("Parameters") or "", at(where, "Parameters"))
    task = ".".join(part for part in (space, kind) if part)
    return SeriesId("", job[1] if job else "", task, method, "", _arguments(parameters))


def _arguments(parameters: str) -> tuple[tuple[str, str], ...]:
    """Return the arguments in "N=10&Kind=Sorted"; the exporter separates them with & or a comma."""
    args = {}
    for index, part in enumerate(re.split(r"&|, ", parameters) if parameters else []):
        name, equals, value = part.partition("=")
        args[name if equals else f"arg{index}"] = value if equals else part
    return tuple(args.items())


TITLE = "BenchmarkDotNet: dotnet run -c Release -- --exporters json"
FORMAT = Format("benchmarkdotnet", TITLE, "run", matches, read)
