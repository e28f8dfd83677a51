"""vitest bench (`--outputJson`) and tinybench (its tasks or its table as JSON); milliseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from barograph.results.fields import FieldError
from barograph.results.series import SeriesId
from barograph.results.units import LOWER
from barograph.sources.formats.base import Format, InputFile, Items, Result
from barograph.sources.formats.cells import numeric
from barograph.sources.formats.nodes import Node, each, has_places

WRAPPERS = ("results", "tasks", "benchmarks")  # keys of an object around the tasks
TITLES = ("Task name", "Task Name")  # of a row of the table
TASK = ("result/latency", "latency/p75", "result/hz", "p75", *TITLES)
STATISTICS = (("median", "median"), ("p50", "median"), ("mean", "mean"))
# "Latency med (ns)": "1,234.5 ± 3.20", or "Average Time (ns)": 1234.5 in old versions
COLUMN = re.compile(r"(?:latency|average time)\s*(avg|med)?\s*\((ns|ms|s|us)\)", re.IGNORECASE)


matches = has_places(
    {"/files/*/groups"},
    *({f"{top}/*/{key}"} for top in ("", *(f"/{name}" for name in WRAPPERS)) for key in TASK),
)


def read(file: InputFile) -> Items:
    """Yield the median of each benchmark, or its mean where an old version has no median."""
    document = Node(file.json())
    if isinstance(document.value, dict) and "files" not in document:
        document = document.first(WRAPPERS)
    if isinstance(document.value, list):
        yield from each(file, document.entries(), _task)
    else:
        yield from each(file, _benchmarks(document["files"]), _benchmark)


def _benchmarks(files: Node) -> Iterator[Node]:
    """Yield the name of the group and the content of each benchmark of vitest."""
    for file in files.entries():
        for group in file.get("groups", []).entries():
            name = _relative(group.get("fullName", "").text())
            for benchmark in group.get("benchmarks", []).entries():
                yield Node((name, benchmark), benchmark.where)


def _relative(group: str) -> str:
    """Return the path of the file and the suites, without what depends on the machine."""
    path, arrow, suites = group.partition(" > ")
    if PurePosixPath(path).is_absolute() or path[1:3] in (":/", ":\\"):
        path = re.split(r"[/\\]", path)[-1]
    return path + arrow + suites


def _benchmark(entry: Node) -> Iterator[Result]:
    group, benchmark = entry.value
    yield _result(group, benchmark["name"].text(), *_statistic(benchmark))


def _task(task: Node) -> Iterator[Result]:
    """Read a task of tinybench: with its result, or a row of the table."""
    title = next((key for key in TITLES if key in task and "name" not in task), "")
    if title:
        yield _result("", task[title].text(), *_cell(task))
        return
    name, result = task["name"].text(), Node(task["result"].value or task.value, task.where)
    if result["error"].value is not None or result["state"].value in ("errored", "aborted"):
        raise FieldError(task.where, name, "the benchmark failed")
    is_new = "latency" in result
    yield _result("", name, *_statistic(result["latency"] if is_new else result))


def _statistic(stats: Node) -> tuple[str, float]:
    """Return the name and the value of the median, else of the mean."""
    for key, name in STATISTICS:
        if stats[key].value is not None:
            return name, stats[key].number()
    reason = "has neither a median nor a mean; the benchmark may have failed"
    raise FieldError(stats.where, None, reason)


def _cell(row: Node) -> tuple[str, float, str]:
    """Return what a row of the table says of the median if it has one, else of the mean."""
    headers = [COLUMN.fullmatch(column[:100]) for column in row.mapping()]
    columns = {(header[1] or "avg").lower(): header for header in headers if header}
    if not columns:
        raise FieldError(row.where, None, "has no column with a latency")
    statistic = "med" if "med" in columns else "avg"
    cell, unit = row[columns[statistic][0]], columns[statistic][2]
    if isinstance(cell.value, str):
        cell.value = numeric(cell.value.partition("\u00b1")[0], cell.where)
    return "median" if statistic == "med" else "mean", cell.number(), unit


def _result(task: str, test: str, measurement: str, value: float, unit: str = "ms") -> Result:
    return Result(SeriesId("", "", task, test, measurement), value, unit, LOWER)


TITLE = "vitest bench --outputJson FILE, or the tasks of tinybench as JSON"
FORMAT = Format("vitest", TITLE, "run", matches, read)
