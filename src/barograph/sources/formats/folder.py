"""A folder with the tables series, points and candidates, each as CSV, JSON, JSON lines or Parquet.

The column `series` of the points and the candidates is the number of a row of `series`, from 0.
data/README.md describes all columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from barograph.results.fields import FieldError, identity_of, stated_direction, verdict_of
from barograph.results.series import LABELS, Direction, SeriesId
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import Format, InputFile, Judgement, Result
from barograph.sources.formats.cells import (
    label,
    measured,
    number,
    order_in,
)
from barograph.sources.formats.content import inner_file
from barograph.sources.formats.dates import time_ms
from barograph.sources.formats.rows import read_table
from barograph.sources.report import Skip

ENDINGS = (".parquet", ".csv", ".tsv", ".json", ".ndjson", ".jsonl")
ALLOWED = tuple(ending + packed for ending in ENDINGS for packed in ("", ".gz"))
NO_SERIES = "no such series"
SKIPPED = "its series was skipped"
Row = dict[str, Any]
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
    yield from _read(file, "series", ("test",), partial(_series, known))
    yield from _read(file, "points", ("series", "order", "value"), partial(_results, known))
    if file.path and table_in(file.path, "candidates") is not None:
        needed = ("series", "order", "verdict")
        yield from _read(file, "candidates", needed, partial(_judgement, known))


def _read(
    file: InputFile,
    name: str,
    needed: Sequence[str],
    convert: Callable[[Row, int], Iterable[Result | Judgement]],
) -> Iterator[Result | Judgement | Skip]:
    """Yield what `convert` makes of the rows of a table, and those that cannot be used."""
    path = table_in(file.path, name) if file.path else None
    if path is None:
        raise DataError(f"{file.name}: has no table {name}")
    source = inner_file(file, path, str(path))
    table = read_table(source)
    missing = [column for column in needed if column not in table.cells]
    if missing and table.cells:
        has = list(table.cells)[:12]
        raise DataError(f"{source.name}: misses the columns {missing}; has {has}")
    yield from (replace(skip, kind=name) for skip in table.skips)
    for k, cells in enumerate(zip(*table.cells.values(), strict=True)):
        row = {title: cell for title, cell in zip(table.cells, cells, strict=True) if cell != ""}
        try:
            yield from convert(row, table.rows[k] - table.rows[0])
        except FieldError as fault:
            yield Skip(table.place(source, k), fault.field, fault.value, fault.reason, name)


def _label(row: Row, field: str) -> str:
    return label(row.get(field), field)


def _series(known: Known, row: Row, place: int) -> Iterable[Result]:
    """Keep the identity and the direction of a series."""
    known[place] = None
    fields = {name: _label(row, name) for name in (*LABELS, "args")}
    known[place] = identity_of(fields), stated_direction(_label(row, "direction"))
    return ()


def _owner(known: Known, row: Row) -> tuple[SeriesId, Direction]:
    """Return the identity and the direction of the series of a row."""
    owner = order_in(row.get("series"), "series")
    series = known.get(owner)
    if series is None:
        raise FieldError("series", owner, SKIPPED if owner in known else NO_SERIES)
    return series


def _results(known: Known, row: Row, _place: int) -> Iterator[Result]:
    """Yield the value of a point, or of each of its runs."""
    series, direction = _owner(known, row)
    order = order_in(row.get("order"), "order")
    value, unit = measured(row.get("value"), "value")
    if unit:
        raise FieldError("value", row["value"], "value has a unit")
    time, commit = time_ms(row.get("time"), "time", "month-first"), _label(row, "commit")
    runs = _runs(row["results"]) if row.get("results") is not None else {}
    for name, each in (runs or {_label(row, "run"): value}).items():
        yield Result(series, each, "", direction, order, commit, time, name)


def _runs(cell: Any) -> dict[str, float]:
    """Return the value of each run by its name."""
    try:
        runs = cell if isinstance(cell, dict) else json.loads(cell, parse_int=float)
        values = {run: number(value, "results") for run, value in runs.items()}
    except (ValueError, TypeError, AttributeError, RecursionError, FieldError):
        values = {}
    if not values:
        raise FieldError("results", cell, "not a JSON object of the value of each run")
    return values


def _judgement(known: Known, row: Row, place: int) -> Iterator[Judgement]:
    series, _ = _owner(known, row)
    order, commit = row.get("order"), _label(row, "commit")
    if order is None and not commit:
        raise FieldError("order", None, "neither order nor commit")
    yield Judgement(
        series,
        verdict_of(_label(row, "verdict") or None, "verdict"),
        f"row {place + 1}",
        order=None if order is None else order_in(order, "order"),
        commit=commit,
        algorithm=_label(row, "algorithm"),
        calculated_on=time_ms(row.get("calculated_on"), "calculated_on", "month-first"),
        triaged_on=time_ms(row.get("triaged_on"), "triaged_on", "month-first"),
    )


TITLE = "a folder with the tables series, points and candidates, which `barograph export` writes"
FORMAT = Format("folder", TITLE, "history", matches, read)
