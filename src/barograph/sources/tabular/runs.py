"""Group rows in any order by series, with bounded memory.

Rows are collected into runs, each sorted by series and written to disk. The rows of some series
are then one slice of every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from barograph.series import Ints
from barograph.sources.base import Skip
from barograph.sources.tables import spill_writer
from barograph.sources.tabular.reading import TableRows

RUN = 1 << 19  # rows; about 60 MB in memory
GROUP = 1 << 18


class Runs:
    """Sorted tables on disk with one schema and a column `series`."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self.schema = schema
        self._folder = folder
        self._waiting: list[pa.RecordBatch] = []
        self._size = 0
        self._runs: list[tuple[pa.Table, Ints]] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._waiting.append(batch)
        self._size += batch.num_rows
        if self._size >= RUN:
            self.finish()

    def finish(self) -> None:
        """Write the waiting rows as a run. Call this after the last rows."""
        if not self._size:
            return
        table = pa.Table.from_batches(self._waiting, self.schema)
        self._waiting, self._size = [], 0
        table = table.take(np.argsort(table.column("series").to_numpy(), kind="stable"))
        path = self._folder / f"run.{len(self._runs)}.arrow"
        with spill_writer(path, self.schema) as writer:
            writer.write_table(table.combine_chunks())
        kept = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        self._runs.append((kept, kept.column("series").to_numpy()))

    def between(self, low: int, high: int) -> pa.Table:
        """Return the rows of the series from `low` to before `high`, sorted by series."""
        slices = [
            run.slice(start, end - start)
            for run, owners in self._runs
            for start, end in [np.searchsorted(owners, [low, high])]
        ]
        table = pa.concat_tables([self.schema.empty_table(), *slices])
        return table.take(np.argsort(table.column("series").to_numpy(), kind="stable"))

    def groups(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """Split a range of series into parts with few rows and at least one series."""
        edges = np.arange(low, high + 1)
        before = np.zeros(edges.size, dtype=np.int64)
        for _, owners in self._runs:
            before += np.searchsorted(owners, edges)
        start = 0
        while start < edges.size - 1:
            fits = int(np.searchsorted(before, before[start] + GROUP, side="right")) - 1
            end = min(max(fits, start + 1), edges.size - 1)
            yield int(edges[start]), int(edges[end])
            start = end

    def outside(self, low: int, high: int) -> Iterator[pa.Table]:
        """Yield the rows of all series below `low` or from `high` on, run by run."""
        for run, owners in self._runs:
            start, end = np.searchsorted(owners, [low, high])
            yield run.slice(0, start)
            yield run.slice(end)


def to_batch(rows: TableRows, series: pa.Array, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows with the number of their series and their own; missing columns are null."""
    own = {"series": series, "row": pa.array(rows.numbers)}
    arrays = [
        own[field.name]
        if field.name in own
        else rows.columns.get(field.name, pa.nulls(rows.numbers.size, field.type))
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class SeriesChunk(NamedTuple):
    """Several series with all their rows.

    Attributes:
        series: The columns of the table of series, by number of the series.
        rows: The rows of these series.
        strangers: The reason for skipping rows of other series.
    """

    series: dict[int, dict[str, Any]]
    rows: pa.Table
    strangers: str


def series_chunks(series: Iterator[TableRows | Skip], runs: Runs) -> Iterator[SeriesChunk | Skip]:
    """Yield the table of series together with the runs; the first row is series 0."""
    low = seen = 0
    for rows in series:
        if isinstance(rows, Skip):
            seen = max(seen, rows.place.document)
            yield rows
        elif rows.numbers.size:
            found = dict(zip((rows.numbers - 1).tolist(), _dicts(rows), strict=True))
            high = int(rows.numbers[-1])
            for start, end in runs.groups(low, high):
                chosen = {number: found[number] for number in range(start, end) if number in found}
                yield SeriesChunk(chosen, runs.between(start, end), "its series was skipped")
            low = high
    seen = max(seen, low)
    for start, end in runs.groups(low, seen):
        yield SeriesChunk({}, runs.between(start, end), "its series was skipped")
    for table in runs.outside(0, seen):
        yield SeriesChunk({}, table, "no such series")


def _dicts(rows: TableRows) -> list[dict[str, Any]]:
    columns = {name: column.to_pylist() for name, column in rows.columns.items()}
    columns.setdefault("row", rows.numbers.tolist())
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
