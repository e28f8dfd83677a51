"""A history file as rows and columns: read whole, written whole or not at all.

The file is a long table: a row for each result, with its order and value, and the identity
of its series. Columns and values that Barograph does not know are kept as they are.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barograph.results.series import LABELS
from barograph.runtime.errors import ConfigError, DataError
from barograph.runtime.extras import needed
from barograph.runtime.files import CsvText, whole
from barograph.sources.formats.base import InputFile, ReadOptions, check_keys
from barograph.sources.formats.content import content_of
from barograph.sources.formats.records import records
from barograph.sources.formats.rows import parquet_batches

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = (
    "order", "commit", "time", "branch", "run", *LABELS, "args", "unit", "direction", "value",
)  # fmt: skip
NEEDED = ("order", "value")
Table = tuple["pa.Schema | None", list[str], list[list[Any]]]
LINES, ARRAY, CSV, PARQUET = (".ndjson", ".jsonl"), (".json",), (".csv",), (".parquet",)


@dataclass
class HistoryFile:
    """The content of a history file.

    Args:
        path: The file, which need not exist.
        columns: The names of the columns.
        rows: The cells of each row, in the order of the columns. Those of a CSV are text; in JSON
            a key that an object lacks is None.
        schema: The types of the columns of a Parquet file.
        version: What changes when the file is replaced; None without a file.
    """

    path: Path
    columns: list[str] = field(default_factory=lambda: list(COLUMNS))
    rows: list[list[Any]] = field(default_factory=list)
    schema: pa.Schema | None = None
    version: tuple[int, ...] | None = None

    @classmethod
    def read(cls, path: Path, options: ReadOptions) -> HistoryFile:
        """Read a history file; a file that does not exist is an empty history.

        Args:
            path: The file.
            options: The limits.

        Raises:
            DataError: The file is not a long table with orders and values, or beyond a limit.
            ConfigError: The name of the file does not end like that of a format.
        """
        kind = path.suffix.lower()
        if kind not in (known := (*CSV, *LINES, *ARRAY, *PARQUET)):
            allowed = ", ".join(known)
            raise ConfigError(f"{path}: a history file must end with one of {allowed}")
        version = _version(path)
        content = content_of(path, str(path), options) if version else b""
        if not content.strip():
            return cls(path, version=version)
        schema, columns, rows = _table(InputFile(str(path), path, content, options), kind)
        missing = [name for name in NEEDED if name not in columns]
        if missing:
            noun = "column" if len(missing) == 1 else "columns"
            raise DataError(f"{path}: misses the {noun} {', '.join(missing)}; {_hint(path)}")
        if not any(name in columns for name in LABELS):
            raise DataError(f"{path}: has none of the columns {', '.join(LABELS)}; {_hint(path)}")
        return cls(path, columns, rows, schema, version)

    def index(self, name: str) -> int | None:
        """Return the position of a column, or None."""
        return self.columns.index(name) if name in self.columns else None

    def texts(self, name: str) -> Iterator[str]:
        """Yield the cells of a column as text; missing ones are empty."""
        position = self.index(name)
        for row in self.rows:
            cell = None if position is None else row[position]
            yield cell if isinstance(cell, str) else "" if cell is None else str(cell)

    def extend(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows at the end, and the columns that they need."""
        used = {name for row in rows for name, cell in row.items() if cell not in ("", None)}
        fresh = [name for row in rows for name in row if name in used and name not in self.columns]
        for name in dict.fromkeys(fresh):
            self.columns.append(name)
            for known in self.rows:
                known.append(None)
        self.rows += [[row.get(name) for name in self.columns] for row in rows]

    def write(self, options: ReadOptions) -> None:
        """Replace the file, once the new one could be read again.

        Args:
            options: The limits.

        Raises:
            OSError: It cannot be written; the old file is unchanged.
            DataError: It could not be read again, or another process has changed the old file since
                it was read; the old file is unchanged.
        """
        kind = self.path.suffix.lower()
        with whole(self.path) as draft:
            if kind in PARQUET:
                self._write_parquet(draft)
            else:
                text = self._as_csv() if kind in CSV else self._as_json(kind)
                draft.write_bytes(text.encode())
            self._check(draft, kind, options)
            if _version(self.path) != self.version:
                raise DataError(f"{self.path}: another process has changed it; try again")

    def _check(self, draft: Path, kind: str, options: ReadOptions) -> None:
        """Refuse a draft that does not hold the rows.

        Raises:
            DataError: It cannot be read, or holds others.
        """
        content = content_of(draft, str(self.path), options)
        file = InputFile(str(self.path), self.path, content, options)
        if kind in CSV:
            written = map(_texts, chain([self.columns], self.rows))
            same = all(a == b for a, b in zip_longest(_csv_rows(file.text(), self.path), written))
        else:
            same = len(_table(file, kind)[2]) == len(self.rows)
        if not same:
            raise DataError(f"{self.path}: unchanged, as what was written cannot be read again")

    def _as_csv(self) -> str:
        writer = csv.writer(buffer := CsvText())
        writer.writerow(self.columns)
        writer.writerows(map(_texts, self.rows))
        return buffer.getvalue()

    def _as_json(self, kind: str) -> str:
        pairs = (zip(self.columns, row, strict=True) for row in self.rows)
        objects = ({name: cell for name, cell in pair if cell is not None} for pair in pairs)
        lines = [json.dumps(entry, ensure_ascii=False) for entry in objects]
        return "\n".join(lines) + "\n" if kind in LINES else "[\n" + ",\n".join(lines) + "\n]\n"

    def _write_parquet(self, draft: Path) -> None:
        with needed(f"{self.path}: a Parquet file"):
            import pyarrow as pa
            import pyarrow.parquet as pq
        types = dict.fromkeys(self.columns, pa.string())
        types |= {"order": pa.int64(), "time": pa.timestamp("ms", "UTC"), "value": pa.float64()}
        if self.schema is not None:
            types |= dict(zip(self.schema.names, self.schema.types, strict=True))
        cells = zip(self.columns, zip(*self.rows, strict=True), strict=True)
        table = pa.table({name: _array(column, types[name]) for name, column in cells})
        pq.write_table(table, draft, compression="zstd")


def _texts(row: Sequence[Any]) -> list[str]:
    return ["" if cell is None else str(cell) for cell in row]


def _version(path: Path) -> tuple[int, ...] | None:
    """Return what changes when a file is replaced or written to; None without a file."""
    if not path.exists():
        return None
    state = path.stat()
    return state.st_mtime_ns, state.st_size, state.st_ino


def _table(file: InputFile, kind: str) -> Table:
    """Return the schema, if the file is Parquet, the columns and the rows of a file."""
    path = Path(file.name)
    if kind in PARQUET:
        schema, columns, rows = _parquet(file)
    else:
        columns, rows = _csv(file.text(), path) if kind in CSV else _objects(file, path)
        schema = None
    check_keys(file, len(columns))
    return schema, columns, rows


def _parquet(file: InputFile) -> Table:
    batches = [batch.to_pydict() for batch in parquet_batches(file)]
    import pyarrow.parquet as pq

    schema = pq.read_schema(io.BytesIO(file.content or b""))
    rows = [list(row) for batch in batches for row in zip(*batch.values(), strict=True)]
    return schema, schema.names, rows


def _array(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return the cells of a column: of a type if they fit, else as numbers, else as text."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        moments = [
            datetime.fromisoformat(cell) if isinstance(cell, str) else cell for cell in cells
        ]
        return pa.array([m and (m if kind.tz else m.replace(tzinfo=None)) for m in moments], kind)
    cut = pa.types.is_integer(kind) and any(isinstance(cell, float) for cell in cells)
    for allowed in (pa.float64() if cut else kind, pa.float64()):  # Arrow would cut the decimals
        try:
            return pa.array(cells, allowed)
        except (pa.ArrowException, TypeError, OverflowError):
            continue
    return pa.array([None if cell is None else str(cell) for cell in cells])


def _hint(path: Path) -> str:
    return f"`barograph append NEW.csv {path.name}` writes a history that can be extended"


def _csv(text: str, path: Path) -> tuple[list[str], list[list[Any]]]:
    rows = _csv_rows(text, path)
    columns = [name.strip() for name in next(rows, [])]
    if len(set(columns)) < len(columns):
        raise DataError(f"{path}: two columns have the same name")
    return columns, [*rows]


def _csv_rows(text: str, path: Path) -> Iterator[list[str]]:
    """Yield the names of the columns, and the cells of each row.

    Raises:
        DataError: A row has not as many cells as columns, or is not CSV.
    """
    reader = csv.reader(io.StringIO(text, newline=""))
    width = 0
    try:
        for row in reader:
            width = width or len(row)
            if row and len(row) != width:
                counts = f"{len(row)} cells, but there are {width} columns"
                raise DataError(f"{path}: line {reader.line_num}: {counts}")
            if row:
                yield row
    except csv.Error as error:
        raise DataError(f"{path}: line {reader.line_num}: {error}") from None


def _objects(file: InputFile, path: Path) -> tuple[list[str], list[list[Any]]]:
    entries = [record.value for record in records(file)]
    if not all(isinstance(entry, dict) for entry in entries):
        raise DataError(f"{path}: must hold objects with order and value; {_hint(path)}")
    columns = list(dict.fromkeys(name for entry in entries for name in entry))
    return columns, [[entry.get(name) for name in columns] for entry in entries]
