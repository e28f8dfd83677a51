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
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.cells import is_missing, measured
from barograph.sources.formats.dates import time_of_form
from barograph.sources.formats.nodes import Node, csv_rows, each

TITLE_TIME = re.compile(r".*-(\d{8}-\d{6})", re.DOTALL)  # taken as UTC
JOB = re.compile(r": [\w.-]+\(([^()\[\]]+)\)")  # "Sort.Quick: Job-XYZ(Runtime=.NET 8.0) [N=10]"
CSV = re.compile(r'\s*(?:"?(?:Namespace|Type)"?[,;\t])*"?Method"?([,;\t])"?Job"?\1')
DECIMAL_COMMA = re.compile(r"[\d.]*,\d")
# The columns of a CSV: of the job, up to the last of these, then parameters, then statistics.
JOB_END, STATISTICS = "WarmupCount", "Mean"
SETTINGS = ("Runtime", "Platform", "RunStrategy", "LaunchCount", "IterationCount", "WarmupCount")
SIZES = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def matches(file: InputFile) -> bool:
    """Whether the head is JSON of an exporter, which writes the environment first, or its CSV."""
    return "/HostEnvironmentInfo" in file.places or bool(CSV.match(file.head))


def read(file: InputFile) -> Items:
    """Yield the median or the mean of each benchmark, and its allocated bytes."""
    header = CSV.match(file.text())
    if header:
        rows = list(csv_rows(file, header[1]))
        # A culture with decimal commas separates the columns by semicolons.
        has_comma = header[1] == ";" and any(
            DECIMAL_COMMA.match(cell)
            for row in rows
            if isinstance(row, Node)
            for cell in [*row.mapping().values()][_start(row, STATISTICS) :]
        )
        yield from each(file, rows, partial(_row, ",." if has_comma else ".,"))
        return
    document = Node(file.json())
    title = TITLE_TIME.fullmatch(document.get("Title", "").text())
    time = time_of_form(title[1], "%Y%m%d-%H%M%S") if title else UNKNOWN_TIME
    cpu = document.get("HostEnvironmentInfo", {})["ProcessorName"].cpu()
    yield from each(file, document["Benchmarks"].entries(), partial(_results, time, cpu))


def _start(row: Node, column: str) -> int:
    """Return the number of a column, that after the last if there is none."""
    names = list(row.mapping())
    return names.index(column) if column in names else len(names)


def _row(signs: str, row: Node) -> Iterator[Result]:
    """Read a row of the CSV, given the decimal sign and that of thousands."""
    stop = _start(row, STATISTICS)
    if stop == len(row.mapping()):
        raise FieldError(row.where, None, f"has no column {STATISTICS}")
    if is_missing(row[STATISTICS].value):
        raise FieldError(row[STATISTICS].where, row[STATISTICS].value, "the benchmark failed")
    chosen = [*row.mapping().items()][_start(row, JOB_END) + 1 : stop]
    args = tuple((name, value) for name, value in chosen if value)
    job = row.get("Job", "").text()
    if job == "DefaultJob":
        job = ""
    elif job.startswith("Job-"):  # made from what was set
        known = ((name, row.get(name, "Default").text()) for name in SETTINGS)
        job = ", ".join(f"{name}={value}" for name, value in known if value != "Default") or job
    series = SeriesId("", job, _task(row), row["Method"].text().strip("'"), "mean", args)
    value, unit = _measured(row[STATISTICS], signs)
    nanoseconds = conversion(unit or "ns", "ns")
    if nanoseconds is None:
        raise FieldError(row[STATISTICS].where, row[STATISTICS].value, "is not a time")
    yield Result(series, value * nanoseconds, "ns", LOWER)
    allocated = row["Allocated"]
    if not is_missing(allocated.value):
        value, unit = _measured(allocated, signs)
        if unit not in SIZES:
            raise FieldError(allocated.where, allocated.value, "is not a size")
        yield _allocated(series, value * SIZES[unit])


def _measured(cell: Node, signs: str) -> tuple[float, str]:
    """Return the number and the unit in a cell, given the decimal sign and that of thousands."""
    return measured(cell.text().replace(signs[1], ""), cell.where, signs[0])


def _task(benchmark: Node) -> str:
    """Return the namespace and the class."""
    return ".".join(filter(None, (benchmark.get(key, "").text() for key in ("Namespace", "Type"))))


def _allocated(series: SeriesId, size: float, time: int = UNKNOWN_TIME) -> Result:
    """Return the allocated bytes of a benchmark."""
    labels = series.variant, series.task, series.test
    return Result(SeriesId("", *labels, "allocated", series.args), size, "B", LOWER, time=time)


def _results(time: int, cpu: str, benchmark: Node) -> Iterator[Result]:
    """Read an entry of the JSON; jobs that differ, as in runtime, are variants."""
    statistics = benchmark["Statistics"]
    if statistics.value is None:
        raise FieldError(statistics.where, None, "the benchmark failed")
    median = statistics["Median"]
    job = JOB.search(benchmark.get("DisplayInfo", "").text()[:2_000])
    args = _arguments(benchmark.get("Parameters", "").text())
    labels = job[1] if job else "", _task(benchmark), benchmark["Method"].text()
    series = SeriesId("", *labels, "median", args)
    yield Result(series, median.number(), "ns", LOWER, time=time, cpu=cpu)
    allocated = benchmark.get("Memory", {})["BytesAllocatedPerOperation"]
    if allocated.value is not None:
        yield _allocated(series, allocated.number(), time)._replace(cpu=cpu)


def _arguments(parameters: str) -> tuple[tuple[str, str], ...]:
    """Return the arguments in "N=10&Kind=Sorted"; the exporter separates them with & or a comma."""
    args = {}
    for index, part in enumerate(re.split(r"&|, ", parameters) if parameters else []):
        name, equals, value = part.partition("=")
        args[name if equals else f"arg{index}"] = value if equals else part
    return tuple(args.items())


TITLE = "BenchmarkDotNet: dotnet run -c Release -- --exporters json (or its *-report.csv)"
FORMAT = Format("benchmarkdotnet", TITLE, "run", matches, read)
