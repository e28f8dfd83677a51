"""BenchmarkDotNet: the JSON exporters, full and brief; all times are nanoseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from barograph.series import UNKNOWN_TIME, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import EPOCH, MILLISECOND, FieldError
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.entries import LOWER, each, has_places
from barograph.sources.formats.nodes import Node

TITLE_TIME = re.compile(r".*-(\d{8}-\d{6})", re.DOTALL)
JOB = re.compile(r": [\w.-]+\(([^()\[\]]+)\)")  # "Sort.Quick: Job-XYZ(Runtime=.NET 8.0) [N=10]"

matches = has_places("/HostEnvironmentInfo")  # which every exporter writes first


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the median of each benchmark, and its allocated bytes."""
    document = Node(file.json())
    time = _time(document.get("Title", "").text())
    yield from each(file, document["Benchmarks"].entries(), partial(_results, time))


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


def _results(time: int, benchmark: Node) -> Iterator[Result]:
    statistics = benchmark["Statistics"]
    if statistics.value is None:
        raise FieldError(statistics.where, None, "the benchmark failed")
    statistics.mapping()
    variant, task, test, args = _labels(benchmark)
    series = SeriesId("", variant, task, test, "median", args)
    yield Result(series, *statistics["Median"].measured(), "ns", LOWER, time=time)
    allocated = benchmark.get("Memory", {})["BytesAllocatedPerOperation"]
    if allocated.value is not None:
        series = SeriesId("", variant, task, test, "allocated", args)
        yield Result(series, *allocated.measured(), "B", LOWER, time=time)


def _labels(benchmark: Node) -> tuple[str, str, str, tuple[tuple[str, str], ...]]:
    """Return variant, task, test and arguments; jobs that differ, as in runtime, are variants."""
    space, kind = (benchmark.get(key, "").text() for key in ("Namespace", "Type"))
    method = benchmark["Method"].text()
    job = JOB.search(benchmark.get("DisplayInfo", "").text()[:2_000])
    args = _arguments(benchmark.get("Parameters", "").text())
    return job[1] if job else "", ".".join(filter(None, (space, kind))), method, args


def _arguments(parameters: str) -> tuple[tuple[str, str], ...]:
    """Return the arguments in "N=10&Kind=Sorted"; the exporter separates them with & or a comma."""
    args = {}
    for index, part in enumerate(re.split(r"&|, ", parameters) if parameters else []):
        name, equals, value = part.partition("=")
        args[name if equals else f"arg{index}"] = value if equals else part
    return tuple(args.items())


TITLE = "BenchmarkDotNet: dotnet run -c Release -- --exporters json"
FORMAT = Format("benchmarkdotnet", TITLE, "run", matches, read)
