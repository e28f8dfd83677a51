"""A flat table: every row is a point with the identity of its series."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from barograph.parquet import SERIES_SCHEMA
from barograph.series import LABELS
from barograph.sources.base import Place, Skip
from barograph.sources.fields import FieldError, direction_of
from barograph.sources.tables import spill_writer
from barograph.sources.tabular.convert import Converter, directions, integers, numbers, texts, times
from barograph.sources.tabular.identities import ARGUMENT, distinct, identity, is_identity
from barograph.sources.tabular.reading import TableLayout, TableRows, read, required
from barograph.sources.tabular.runs import Runs, to_batch

POINTS = {"order": required(integers), "value": numbers}
POINTS_SCHEMA = pa.schema(
    [
        ("series", pa.int64()),
        ("row", pa.int64()),
        ("order", pa.int64()),
        ("time", pa.int64()),
        ("value", pa.float64()),
        ("commit", pa.string()),
        ("run", pa.string()),
    ]
)
NUMBERED = SERIES_SCHEMA.append(pa.field("row", pa.int64()))


def layout() -> TableLayout:
    """Return the columns: `order` and `value` are required, the labels of a series are optional."""
    names = dict.fromkeys((*LABELS, "args"), texts)
    allowed = {**names, "direction": directions, "commit": texts, "time": times, "run": texts}
    return TableLayout(POINTS, allowed, _argument)


def _argument(name: str) -> Converter | None:
    return texts if name.startswith(ARGUMENT) and len(name) > len(ARGUMENT) else None


class Splitter:
    """Splits a flat table into a table of series and runs of points, both on disk."""

    def __init__(self, path: Path, folder: Path, runs: Runs) -> None:
        self._path, self._runs = path, runs
        self._table = folder / "series.arrow"
        self._known: dict[bytes, tuple[int, int]] = {}  # the number and the direction
        self._written = 0

    def split(self, delimiter: str) -> Iterator[Skip]:
        """Read the whole file; yield the skipped rows."""
        with spill_writer(self._table, NUMBERED) as writer:
            for rows in read(self._path, layout(), "points", delimiter):
                if isinstance(rows, Skip):
                    yield rows
                else:
                    yield from self._take(rows, writer)
        self._runs.finish()

    def _take(self, rows: TableRows, writer: pa.RecordBatchFileWriter) -> Iterator[Skip]:
        names = [name for name in rows.columns if is_identity(name)]
        # Without any column of an identity the file is one series, and its name says which.
        own = {} if names else {"test": self._path.name.partition(".")[0]}
        chosen = [*names, "direction"] if "direction" in rows.columns else names
        kinds = distinct({name: rows.columns[name] for name in chosen}, rows.numbers.size)
        owners = np.full(len(kinds.values), -1, dtype=np.int64)
        fresh: list[tuple[object, ...]] = []
        for kind, row in enumerate(kinds.values):
            try:
                owners[kind] = self._number(row | own, int(rows.numbers[kinds.firsts[kind]]), fresh)
            except FieldError as fault:
                for number in rows.numbers[kinds.codes == kind].tolist():
                    place = Place(str(self._path), number)
                    yield Skip(place, fault.field, fault.value, fault.reason, "points")
        if fresh:
            columns = zip(zip(*fresh, strict=True), NUMBERED, strict=True)
            arrays = [pa.array(column, field.type) for column, field in columns]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=NUMBERED))
        numbers = owners[kinds.codes]
        batch = to_batch(rows, pa.array(numbers), POINTS_SCHEMA)
        self._runs.add(batch.filter(pa.array(numbers >= 0)))

    def series(self) -> Iterator[TableRows | Skip]:
        """Stream the table of series; `row` is the first row of each."""
        with pa.ipc.open_file(pa.memory_map(str(self._table))) as file:
            count = 0
            for number in range(file.num_record_batches):
                batch = file.get_batch(number)
                numbers = np.arange(count + 1, count + 1 + batch.num_rows, dtype=np.int64)
                yield TableRows(dict(zip(batch.schema.names, batch.columns, strict=True)), numbers)
                count += batch.num_rows

    def _number(self, row: dict[str, Any], first: int, fresh: list[tuple[object, ...]]) -> int:
        """Return the number of a row's series; add a new series to `fresh`."""
        series, value = identity(row), row.get("direction")
        direction = direction_of(value)
        number, known = self._known.setdefault(series.digest, (len(self._known), direction))
        if value is not None and direction != known:
            raise FieldError("direction", value, "not the direction of its series' first row")
        if number == len(self._known) - 1 and number == self._written:
            fresh.append((*series.labels.values(), series.args_json, direction, first))
            self._written += 1
        return number
