"""BenchmarkDotNet: the JSON exporters, full and brief, and the CSV that it writes by default.

All times are nanoseconds. The JSON gives the median. The CSV has a median only where it differs
much from the mean, so it gives the mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from barograph.results.fields import FieldError
from barograph.results.series import UNKNOWN_TIME, SeriesId
from barograph.results.units import LOWER, conversion
from barograph.sources.formats.base import Format, InputFile, Result
from barograph.sources.formats.cells import is_missing, measured
from barograph.sources.formats.dates import time_of_form
from barograph.sources.formats.nodes import Node, csv_rows, each
from barograph.sources.report import Skip

TITLE_TIME = re.compile(r".*-(\d{8}-\d{6})", re.DOTALL)
JOB = re.compile(r": [\w.-]+\(([^()\[\]]+)\)")  # "Sort.Quick: Job-XYZ(Runtime=.NET 8.0) [N=10]"

CSV = re.compile(r'\s*(?:"?(?:Namespace|Type)"?[,;\t])*"?Method"?([,;\t])"?Job"?\1')
DECIMAL_COMMA = re.compile(r"[\d.]*,\d")
# The columns of a CSV: of the job, up to the last of these, then parameters, then statistics.
JOB_END, STATISTICS = "WarmupCount", "Mean"
SETTINGS = ("Runtime", "Platform", "RunStrategy", "LaunchCount", "IterationCount", "WarmupCount")
SIZES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}  # as the tool counts


def matches(file: InputFile) -> bool:
    """Whether the head is JSON of an exporter, which writes the environment first, or its CSV."""
    return "/HostEnvironmentInfo" in file.places or bool(CSV.match(file.head))


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the median or the mean of each benchmark, and its allocated bytes."""
    header = CSV.match(file.text())
    if header:
        rows = list(csv_rows(file, header[1]))
        statistics = [cell for row in rows if isinstance(row, Node) for cell in _statistics(row)]
        # A culture with decimal commas separates the columns by semicolons.
        has_comma = header[1] == ";" and any(map(DECIMAL_COMMA.match, statistics))
        yield from each(file, rows, partial(_row, ",." if has_comma else ".,"))
        return
    document = Node(file.json())
    time = _time(document.get("Title", "").text())
    yield from each(file, document["Benchmarks"].entries(), partial(_results, time))


def _statistics(row: Node) -> list[str]:
    """Return the cells of a row from the mean on, which are numbers of one culture."""
    names = list(row.mapping())
    first = names.index(STATISTICS) if STATISTICS in names else len(names)
    return [row[name].text() for name in names[first:]]


def _measured(cell: Node, signs: str) -> tuple[float, str]:
    """Return the number and the unit in a cell, given the decimal sign and that of thousands."""
    return measured(cell.text().replace(signs[1], ""), cell.where, signs[0])


def _row(signs: str, row: Node) -> Iterator[Result]:
    """Read a row of the CSV, given the decimal sign and that of thousands."""
    names = list(row.mapping())
    if STATISTICS not in names:
        raise FieldError(row.where, None, f"has no column {STATISTICS}")
    cell = row[STATISTICS]
    if is_missing(cell.value):
        raise FieldError(cell.where, cell.value, "the benchmark failed")
    start = names.index(JOB_END) + 1 if JOB_END in names else 0
    stop = names.index(STATISTICS)
    chosen = names[start:stop] if start else []
    args = tuple((name, row[name].text()) for name in chosen if row[name].value)
    task = ".".join(filter(None, (row.get(key, "").text() for key in ("Namespace", "Type"))))
    job = row.get("Job", "").text()
    if job == "DefaultJob":
        job = ""
    elif job.startswith("Job-"):  # made from what was set
        known = ((name, row.get(name, "Default").text()) for name in SETTINGS)
        job = ", ".join(f"{name}={value}" for name, value in known if value != "Default") or job
    test = row["Method"].text().strip("'")
    value, unit = _measured(cell, signs)
    nanoseconds = conversion(unit or "ns", "ns")
    if nanoseconds is None:
        raise FieldError(cell.where, cell.value, "is not a time")
    series = SeriesId("", job, task, test, "mean", args)
    yield Result(series, value * nanoseconds, "ns", LOWER)
    allocated = row["Allocated"]
    if not is_missing(allocated.value):
        value, unit = _measured(allocated, signs)
        if (unit or "B") not in SIZES:
            raise FieldError(allocated.where, allocated.value, "is not a size")
        series = SeriesId("", job, task, test, "allocated", args)
        yield Result(series, value * SIZES[unit or "B"], "B", LOWER)


def _time(title: str) -> int:
    """Return the time that the title of a report ends with, taken as UTC."""
    match = TITLE_TIME.fullmatch(title)
    return time_of_form(match[1], "%Y%m%d-%H%M%S") if match else UNKNOWN_TIME


def _results(time: int, benchmark: Node) -> Iterator[Result]:
    statistics = benchmark["Statistics"]
    if statistics.value is None:
        raise FieldError(statistics.where, None, "the benchmark failed")
    statistics.mapping()
    variant, task, test, args = _labels(benchmark)
    series = SeriesId("", variant, task, test, "median", args)
    yield Result(series, statistics["Median"].number(), "ns", LOWER, time=time)
    allocated = benchmark.get("Memory", {})["BytesAllocatedPerOperation"]
    if allocated.value is not None:
        series = SeriesId("", variant, task, test, "allocated", args)
        yield Result(series, allocated.number(), "B", LOWER, time=time)


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


TITLE = "BenchmarkDotNet: dotnet run -c Release -- --exporters json (or its *-report.csv)"
FORMAT = Format("benchmarkdotnet", TITLE, "run", matches, read)
