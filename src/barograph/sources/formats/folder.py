"""A folder with the tables series, points and candidates, each as CSV, JSON, JSON lines or Parquet.

The column `series` of the points and the candidates is the number of a row of `series`, from 0.
data/README.md describes all columns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from barograph.results.fields import FieldError, identity_of, stated_direction, verdict_of
from barograph.results.series import UNKNOWN_TIME, Direction, SeriesId
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import Format, InputFile, Judgement, Result
from barograph.sources.formats.cells import (
    Faults,
    converted,
    decoded_args,
    label,
    measurements,
    orders,
)
from barograph.sources.formats.content import inner_file
from barograph.sources.formats.dates import cell_time
from barograph.sources.formats.delimited import TableRows
from barograph.sources.formats.rows import read_table
from barograph.sources.report import Skip

ENDINGS = (".parquet", ".csv", ".tsv", ".json", ".ndjson", ".jsonl")
ALLOWED = tuple(ending + packed for ending in ENDINGS for packed in ("", ".gz"))
LABELS_AND_ARGS = ("project", "variant", "task", "test", "measurement", "args")
NO_SERIES = "no such series"
SKIPPED = "its series was skipped"
Known = dict[int, tuple[SeriesId, Direction] | None]


def matches(file: InputFile) -> bool:
    """Return whether a folder has tables of series and points."""
    folder = file.folder
    names = ("series", "points")
    return folder is not None and all(table_in(folder, name) is not None for name in names)


def table_in(folder: Path, name: str) -> Path | None:
    """Return the file of a table in a folder, or None.

    Raises:
        DataError: There are several.
    """
    paths = [folder / f"{name}{ending}" for ending in ALLOWED]
    paths = [path for path in paths if path.is_file()]
    if len(paths) > 1:
        raise DataError(f"{folder}: {[path.name for path in paths]}: there must be one of them")
    return paths[0] if paths else None


def read(file: InputFile) -> Iterator[Result | Judgement | Skip]:
    """Yield the points of all series, and then the candidates."""
    known: Known = {}
    source, table = _table(file, "series", ("test",))
    yield from (replace(skip, kind="series") for skip in table.skips)
    for k, number in enumerate(table.rows):
        row = {name: cells[k] for name, cells in table.cells.items()}
        try:
            known[number - table.rows[0]] = _series_row(row)
        except FieldError as fault:
            known[number - table.rows[0]] = None
            yield _skip(source, table, k, fault, "series")
    yield from _points(file, known)
    if file.path and table_in(file.path, "candidates") is not None:
        yield from _judgements(file, known)


def _table(file: InputFile, name: str, needed: Sequence[str]) -> tuple[InputFile, TableRows]:
    """Return one of the tables, which must have some columns."""
    path = table_in(file.path, name) if file.path else None
    if path is None:
        raise DataError(f"{file.name}: has no table {name}")
    source = inner_file(file, path, str(path))
    table = read_table(source)
    missing = [column for column in needed if column not in table.cells]
    if missing and table.cells:
        has = list(table.cells)[:12]
        raise DataError(f"{source.name}: misses the columns {missing}; has {has}")
    return source, table


def _skip(file: InputFile, table: TableRows, row: int, fault: FieldError, kind: str = "") -> Skip:
    return Skip(table.place(file, row), fault.field, fault.value, fault.reason, kind)


def _series_row(row: dict[str, Any]) -> tuple[SeriesId, Direction]:
    fields: dict[str, Any] = {name: label(row.get(name), name) for name in LABELS_AND_ARGS}
    fields["args"] = decoded_args(fields["args"])
    direction = stated_direction(label(row.get("direction"), ""), "direction")
    return identity_of(fields), direction


def _points(file: InputFile, known: Known) -> Iterator[Result | Skip]:
    """Yield the value of each point, or of each of its runs."""
    source, table = _table(file, "points", ("series", "order", "value"))
    yield from table.skips
    if not table.rows:
        return
    none: Sequence[Any] = (None,) * len(table.rows)
    faults: Faults = {}
    owners, unusable = orders(table.cells["series"], "series")
    faults |= unusable
    places, unusable = orders(table.cells["order"], "order")
    faults |= unusable
    values, units, unusable = measurements(table.cells["value"], "value", ".")
    faults |= unusable
    for row, unit in enumerate(units):
        if unit:
            faults[row] = FieldError("value", table.cells["value"][row], "value has a unit")
    cells = {name: table.cells.get(name, none) for name in ("time", "commit", "run", "results")}
    times = converted(cells["time"], lambda cell: _time(cell, "time"), UNKNOWN_TIME, faults)
    commits, names = (
        converted(cells[name], lambda cell, name=name: label(cell, name), "", faults)  # type: ignore[misc]
        for name in ("commit", "run")
    )
    none_named: dict[str, float] = {}
    runs = converted(cells["results"], _runs, none_named, faults)
    for row, owner in enumerate(owners.tolist()):
        if row not in faults and known.get(owner) is None:
            reason = SKIPPED if owner in known else NO_SERIES
            faults[row] = FieldError("series", owner, reason)
        series = known.get(owner)
        if row in faults or series is None:
            yield _skip(source, table, row, faults[row])
            continue
        for run, value in (runs[row] or {names[row]: float(values[row])}).items():
            described = "", series[1], int(places[row]), commits[row], times[row], run
            yield Result(series[0], value, *described)


def _time(cell: Any, field: str) -> int:
    return UNKNOWN_TIME if cell is None or cell == "" else cell_time(cell, field)


def _runs(cell: Any) -> dict[str, float]:
    """Return the value of each run by its name; none for a single run without a name."""
    if cell is None or cell == "":
        return {}
    try:
        runs = cell if isinstance(cell, dict) else json.loads(cell, parse_int=float)
    except (ValueError, TypeError, RecursionError):
        runs = None
    if isinstance(runs, dict) and runs and all(map(_is_finite, runs.values())):
        return {run: float(value) for run, value in runs.items()}
    raise FieldError("results", cell, "not a JSON object of the value of each run")


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _judgements(file: InputFile, known: Known) -> Iterator[Judgement | Skip]:
    source, table = _table(file, "candidates", ("series", "order", "verdict"))
    yield from (replace(skip, kind="candidates") for skip in table.skips)
    for k, number in enumerate(table.rows):
        row = {name: cells[k] for name, cells in table.cells.items()}
        try:
            yield _judgement(row, known, number)
        except FieldError as fault:
            yield _skip(source, table, k, fault, "candidates")


def _judgement(row: dict[str, Any], known: Known, number: int) -> Judgement:
    [owner], faults = orders([row["series"]], "series")
    if faults:
        raise faults[0]
    series = known.get(int(owner))
    if series is None:
        raise FieldError("series", int(owner), SKIPPED if int(owner) in known else NO_SERIES)
    has_order = row["order"] is not None and row["order"] != ""
    [order], faults = orders([row["order"]], "order") if has_order else ([0], {})
    if faults:
        raise faults[0]
    commit = label(row.get("commit"), "commit")
    if not has_order and not commit:
        raise FieldError("order", None, "neither order nor commit")
    return Judgement(
        series[0],
        verdict_of(label(row["verdict"], "verdict") or None, "verdict"),
        f"row {number}",
        order=int(order) if has_order else None,
        commit=commit,
        algorithm=label(row.get("algorithm"), "algorithm"),
        calculated_on=_time(row.get("calculated_on"), "calculated_on"),
        triaged_on=_time(row.get("triaged_on"), "triaged_on"),
    )


TITLE = "a folder with the tables series, points and candidates, which `barograph export` writes"
FORMAT = Format("folder", TITLE, "history", matches, read)
