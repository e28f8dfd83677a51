"""A folder with the tables series, points and candidates, each as CSV, JSON, JSON lines or Parquet.

The column `series` of the points and the candidates is the number of a row of `series`, from 0.
data/README.md describes all columns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from barograph.results.series import UNKNOWN_TIME, Direction, Ints, SeriesId
from barograph.results.texts import Texts
from barograph.runtime.errors import DataError
from barograph.sources.fields import FieldError, identity_of, stated_direction, verdict_of
from barograph.sources.formats.base import Chunk, Format, InputFile, Judgement, ResultBatch, Sample
from barograph.sources.formats.cells import (
    Faults,
    TextReader,
    TimeReader,
    decoded_args,
    label,
    numbers,
    orders,
)
from barograph.sources.formats.content import inner_file
from barograph.sources.formats.dates import DateParser
from barograph.sources.formats.rows import read_rows
from barograph.sources.report import Skip

ENDINGS = (".parquet", ".csv", ".tsv", ".json", ".ndjson", ".jsonl")
ALLOWED = tuple(ending + packed for ending in ENDINGS for packed in ("", ".gz"))
LABELS_AND_ARGS = ("project", "variant", "task", "test", "measurement", "args")
NO_SERIES = "no such series"
SKIPPED = "its series was skipped"


class _SeriesRow(NamedTuple):
    name: SeriesId
    way: Direction


def matches(sample: Sample) -> bool:
    """Return whether a folder has tables of series and points."""
    folder = sample.folder
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


def read(file: InputFile) -> Iterator[ResultBatch | Judgement | Skip]:
    """Yield the points of all series, and then the candidates."""
    series: dict[int, _SeriesRow | None] = {}
    yield from _series(_table(file, "series"), series)
    points = _table(file, "points")
    reader = _PointReader(points, series)
    for chunk in read_rows(points):
        _require(points, chunk, ("series", "order", "value"))
        yield from chunk.skips
        if len(chunk.rows):
            yield from reader.read(chunk)
    if file.path and table_in(file.path, "candidates") is not None:
        yield from _judgements(_table(file, "candidates"), series)


def _table(file: InputFile, name: str) -> InputFile:
    path = table_in(file.path, name) if file.path else None
    if path is None:
        raise DataError(f"{file.name}: has no table {name}")
    return inner_file(file, path, str(path))


def _require(file: InputFile, chunk: Chunk, names: Sequence[str]) -> None:
    missing = [name for name in names if name not in chunk.cells]
    if missing and chunk.cells:
        raise DataError(f"{file.name}: misses the columns {missing}; has {list(chunk.cells)[:12]}")


def _series(file: InputFile, series: dict[int, _SeriesRow | None]) -> Iterator[Skip]:
    """Add the series by number; yield those that cannot be used, which are None."""
    for chunk in read_rows(file):
        _require(file, chunk, ("test",))
        yield from (replace(skip, kind="series") for skip in chunk.skips)
        for k, number in enumerate(chunk.rows):
            row = {name: cells[k] for name, cells in chunk.cells.items()}
            try:
                series[number] = _series_row(row)
            except FieldError as fault:
                series[number] = None
                place = chunk.place(file, k)
                yield Skip(place, fault.field, fault.value, fault.reason, "series")


def _series_row(row: dict[str, Any]) -> _SeriesRow:
    fields: dict[str, Any] = {name: label(row.get(name), name) for name in LABELS_AND_ARGS}
    fields["args"] = decoded_args(fields["args"])
    return _SeriesRow(
        identity_of(fields), stated_direction(label(row.get("direction"), ""), "direction")
    )


class _PointReader:
    """Turns rows of points into batches of results.

    Args:
        file: The table.
        series: The series by number; None for those that were skipped.
    """

    def __init__(self, file: InputFile, series: Mapping[int, _SeriesRow | None]) -> None:
        self._file, self._series = file, series
        self._times = TimeReader("time", DateParser())
        self._texts = {name: TextReader(name) for name in ("commit", "run")}
        self._rows = [row for row in series.values() if row is not None]
        self._places = np.full(max(series, default=-1) + 2, -1)  # of series among those
        self._places[[number for number, row in series.items() if row]] = range(len(self._rows))

    def read(self, chunk: Chunk) -> Iterator[ResultBatch | Skip]:
        """Yield a batch, and the rows that cannot be used."""
        size = len(chunk.rows)
        empty: Sequence[Any] = (None,) * size
        owners, faults = self._owners(chunk)
        places, unusable = orders(chunk.cells["order"], "order")
        faults = unusable | faults
        values, unusable = numbers(chunk.cells["value"], "value")
        faults = unusable | faults
        moments, unusable = self._times.read(chunk.cells.get("time", empty))
        faults = unusable | faults
        texts = {}
        for name, reader in self._texts.items():
            texts[name], unusable = reader.read(chunk.cells.get(name, empty))
            faults = unusable | faults
        runs, unusable = _run_values(chunk.cells.get("results", empty))
        faults = unusable | faults
        for row, fault in sorted(faults.items()):
            yield Skip(chunk.place(self._file, row), fault.field, fault.value, fault.reason)
        batch = ResultBatch(
            series=[row.name for row in self._rows],
            directions=[int(row.way) for row in self._rows],
            owners=owners,
            values=values,
            orders=places,
            times=moments,
            commits=texts["commit"],
            runs=texts["run"],
            rows=np.asarray(chunk.rows, dtype=np.int64),
        )
        sound = np.delete(np.arange(size), list(faults))
        batch, of_rows = batch.take(sound), [runs[row] for row in sound.tolist()]
        yield _with_runs(batch, of_rows) if any(of_rows) else batch

    def _owners(self, chunk: Chunk) -> tuple[Ints, Faults]:
        """Return the series of each row among those that can be used."""
        stated, faults = orders(chunk.cells["series"], "series")
        outside = self._places.size - 1
        owners = self._places[np.where((stated >= 0) & (stated < outside), stated, outside)]
        for row in np.flatnonzero(owners < 0).tolist():
            number = int(stated[row])
            reason = SKIPPED if number in self._series else NO_SERIES
            faults.setdefault(row, FieldError("series", number, reason))
        return owners, faults


def _with_runs(batch: ResultBatch, runs: Sequence[dict[str, float]]) -> ResultBatch:
    """Replace each point with several runs by a result for each of them."""
    counts: Ints = np.array([max(1, len(values)) for values in runs], dtype=np.int64)
    place = np.repeat(np.arange(counts.size), counts)
    names = batch.runs or Texts.unknown(counts.size)
    pairs = zip(runs, names, batch.values.tolist(), strict=True)
    every = [pair for values, run, value in pairs for pair in (values.items() or [(run, value)])]
    return batch.take(place)._replace(
        values=np.array([value for _, value in every], dtype=np.float64),
        runs=Texts.from_strings([run for run, _ in every]),
    )


def _run_values(cells: Sequence[Any]) -> tuple[list[dict[str, float]], Faults]:
    """Return the value of each run by its name; none for a single run without a name."""
    values: list[dict[str, float]] = []
    faults: Faults = {}
    if not any(cells):
        return [{} for _ in cells], faults
    for row, cell in enumerate(cells):
        values.append({})
        if cell is None or cell == "":
            continue
        try:
            runs = cell if isinstance(cell, dict) else json.loads(cell, parse_int=float)
        except (ValueError, TypeError, RecursionError):
            runs = None
        if isinstance(runs, dict) and runs and all(map(_is_finite, runs.values())):
            values[-1] = runs
        else:
            faults[row] = FieldError("results", cell, "not a JSON object of the value of each run")
    return values, faults


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _judgements(
    file: InputFile, series: dict[int, _SeriesRow | None]
) -> Iterator[Judgement | Skip]:
    parse = DateParser()
    for chunk in read_rows(file):
        _require(file, chunk, ("series", "order", "verdict"))
        yield from (replace(skip, kind="candidates") for skip in chunk.skips)
        for k, number in enumerate(chunk.rows):
            row = {name: cells[k] for name, cells in chunk.cells.items()}
            try:
                yield _judgement(row, series, number + chunk.lines, parse)
            except FieldError as fault:
                place = chunk.place(file, k)
                yield Skip(place, fault.field, fault.value, fault.reason, "candidates")


def _judgement(
    row: dict[str, Any], series: dict[int, _SeriesRow | None], line: int, parse: DateParser
) -> Judgement:
    [owner], faults = orders([row["series"]], "series")
    if faults:
        raise faults[0]
    row_of_series = series.get(int(owner))
    if row_of_series is None:
        raise FieldError("series", int(owner), SKIPPED if int(owner) in series else NO_SERIES)
    has_order = row["order"] is not None and row["order"] != ""
    [order], faults = orders([row["order"]], "order") if has_order else ([0], {})
    if faults:
        raise faults[0]
    commit = label(row.get("commit"), "commit")
    if not has_order and not commit:
        raise FieldError("order", None, "neither order nor commit")
    return Judgement(
        row_of_series.name,
        verdict_of(label(row["verdict"], "verdict") or None, "verdict"),
        f"row {line}",
        order=int(order) if has_order else None,
        commit=commit,
        algorithm=label(row.get("algorithm"), "algorithm"),
        calculated_on=_moment(row.get("calculated_on"), "calculated_on", parse),
        triaged_on=_moment(row.get("triaged_on"), "triaged_on", parse),
    )


def _moment(cell: Any, field: str, parse: DateParser) -> int:
    return UNKNOWN_TIME if cell is None or cell == "" else parse(cell, field)


TITLE = "a folder with the tables series, points and candidates, which `barograph export` writes"
FORMAT = Format("folder", TITLE, "history", matches, read)
