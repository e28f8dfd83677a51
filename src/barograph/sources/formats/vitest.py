"""vitest bench (`--outputJson`) and tinybench (its tasks or its table as JSON); milliseconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from barograph.series import Direction, SeriesId
from barograph.sources.base import Skip
from barograph.sources.fields import FieldError
from barograph.sources.formats.access import array, at, mapping, number, text
from barograph.sources.formats.base import Format, InputFile, Result, Sample
from barograph.sources.formats.entries import each, indexed, number_in
from barograph.sources.formats.outline import outline

TASK_NAMES = ("name", "Task name", "Task Name")
STATISTICS = {"median": ("median", "p50"), "mean": ("mean",)}  # the first that is there
# "Latency med (ns)": "1,234.5 ± 3.20", or "Average Time (ns)": 1234.5 in old versions
COLUMN = re.compile(r"(?:latency|average time)\s*(avg|med)?\s*\((ns|ms|s|us)\)", re.IGNORECASE)


def matches(sample: Sample) -> bool:
    """Whether the head has the groups of vitest, or the results of a task of tinybench."""
    keys = outline(sample)
    if "/files/*/groups" in keys:
        return True
    shapes = ("/*/result/latency", "/*/latency/p75", "/*/result/hz", "/*/p75")
    tables = ("/*/Task name", "/*/Task Name")
    return any(shape in keys for shape in shapes) or any(table in keys for table in tables)


def read(file: InputFile) -> Iterator[Result | Skip]:
    """Yield the median of each benchmark, or its mean where an old version has no median."""
    document = file.json()
    if isinstance(document, list):
        yield from each(file, indexed(document, ""), _task)
        return
    files = array(mapping(document, "").get("files"), "files")
    yield from each(file, _benchmarks(files), _benchmark)


def _benchmarks(files: list[Any]) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Yield the place, and the group and content, of each benchmark of vitest."""
    for where, entry in indexed(files, "files"):
        groups = mapping(entry, where).get("groups") or []
        for place, group in indexed(array(groups, at(where, "groups")), at(where, "groups")):
            found = mapping(group, place)
            name = text(found.get("fullName") or "", at(place, "fullName"))
            rows = array(found.get("benchmarks") or [], at(place, "benchmarks"))
            for row_place, row in indexed(rows, at(place, "benchmarks")):
                yield row_place, (name, row)


def _benchmark(entry: tuple[str, Any], where: str) -> Iterator[Result]:
    group, row = entry
    benchmark = mapping(row, where)
    name = text(benchmark.get("name"), at(where, "name"))
    yield _result(_relative(group), name, *_statistic(benchmark, where))


def _relative(group: str) -> str:
    """Return the path of the file and the suites, without what depends on the machine."""
    path, arrow, suites = group.partition(" > ")
    if PurePosixPath(path).is_absolute() or path[1:3] in (":/", ":\\"):
        path = re.split(r"[/\\]", path)[-1]
    return path + arrow + suites


def _task(entry: Any, where: str) -> Iterator[Result]:
    """Read a task of tinybench: with its result, or a row of the table."""
    task = mapping(entry, where)
    key = next((key for key in TASK_NAMES if key in task), "name")
    name = text(task.get(key), at(where, key))
    if key != "name":
        yield _row(task, name, where)
        return
    result = mapping(task.get("result") or task, where)
    if result.get("error") is not None or result.get("state") in ("errored", "aborted"):
        raise FieldError(where, name, "the benchmark failed")
    place = at(where, "latency") if "latency" in result else where
    latency = mapping(result["latency"], place) if "latency" in result else result
    yield _result("", name, *_statistic(latency, place))


def _statistic(stats: dict[str, Any], where: str) -> tuple[str, float, str]:
    """Return the name, the value and the place of the median, else of the mean."""
    for name, keys in STATISTICS.items():
        for key in keys:
            if stats.get(key) is not None:
                return name, number(stats[key], at(where, key)), at(where, key)
    raise FieldError(where, None, "has neither a median nor a mean; the benchmark may have failed")


def _row(row: dict[str, Any], name: str, where: str) -> Result:
    """Read a row of the table: the median if it has one, else the mean."""
    found = {}
    for column in row:
        header = COLUMN.fullmatch(column[:100])
        if header:
            found[(header[1] or "avg").lower()] = column, header[2]
    if not found:
        raise FieldError(where, None, "has no column with a latency")
    kind = "med" if "med" in found else "avg"
    column, unit = found[kind]
    value, place = row[column], at(where, column)
    if isinstance(value, str):
        value = number_in(value.partition("\u00b1")[0], place)
    measurement = "median" if kind == "med" else "mean"
    return _result("", name, measurement, number(value, place), place, unit)


def _result(
    task: str, test: str, measurement: str, value: float, where: str, unit: str = "ms"
) -> Result:
    series = SeriesId("", "", task, test, measurement)
    return Result(series, value, where, unit, Direction.LOWER_IS_BETTER)


TITLE = "vitest bench --outputJson FILE, or the tasks of tinybench as JSON"
FORMAT = Format("vitest", TITLE, "run", matches, read)
