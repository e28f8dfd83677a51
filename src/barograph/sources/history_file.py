"""A history file as rows: read whole, written whole or not at all.

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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barograph.results.series import LABELS, canonical_text
from barograph.runtime.errors import ConfigError, DataError
from barograph.runtime.extras import needed
from barograph.runtime.files import CsvText, whole
from barograph.sources.formats.base import InputFile, ReadOptions, check_keys
from barograph.sources.formats.content import content_of
from barograph.sources.formats.records import records
from barograph.sources.formats.rows import parquet_table

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = (
    "order", "commit", "time", "branch", "run", *LABELS, "args", "unit", "direction", "value",
)  # fmt: skip
NEEDED = ("order", "value")
KINDS = (".csv", ".ndjson", ".jsonl", ".json", ".parquet")
Row = dict[str, Any]


@dataclass
class HistoryFile:
    """The content of a history file.

    Args:
        path: The file, which need not exist.
        columns: The names of the columns.
        rows: The cells of each row by column. Those of a CSV are text; a cell that a row lacks is
            empty.
        schema: The types of the columns of a Parquet file.
        version: What changes when the file is replaced; None without a file.
    """

    path: Path
    columns: list[str] = field(default_factory=lambda: list(COLUMNS))
    rows: list[Row] = field(default_factory=list)
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
        if path.suffix.lower() not in KINDS:
            raise ConfigError(f"{path}: a history file must end with one of {', '.join(KINDS)}")
        version = _version(path)
        content = content_of(path, str(path), options) if version else b""
        if not content.strip():
            return cls(path, version=version)
        columns, rows, schema = _table(InputFile(str(path), path, content, options), path)
        missing = [name for name in NEEDED if name not in columns]
        if missing:
            noun = "column" if len(missing) == 1 else "columns"
            raise DataError(f"{path}: misses the {noun} {', '.join(missing)}; {_hint(path)}")
        if not any(name in columns for name in LABELS):
            raise DataError(f"{path}: has none of the columns {', '.join(LABELS)}; {_hint(path)}")
        return cls(path, columns, rows, schema, version)

    def texts(self, name: str) -> Iterator[str]:
        """Yield the cells of a column as text; missing ones are empty."""
        return (text_of_cell(row.get(name)) for row in self.rows)

    def extend(self, rows: Sequence[Row]) -> None:
        """Add rows at the end, and the columns that they need."""
        used = (name for row in rows for name, cell in row.items() if cell not in ("", None))
        self.columns = list(dict.fromkeys([*self.columns, *used]))
        self.rows += rows

    def write(self, options: ReadOptions) -> None:
        """Replace the file, once the new one could be read again.

        Args:
            options: The limits.

        Raises:
            OSError: It cannot be written; the old file is unchanged.
            DataError: It could not be read again, or another process has changed the old file since
                it was read; the old file is unchanged.
        """
        with whole(self.path) as draft:
            if self.path.suffix.lower() == ".parquet":
                self._write_parquet(draft)
            else:
                draft.write_bytes(self._text().encode())
            content = content_of(draft, str(self.path), options)
            file = InputFile(str(self.path), self.path, content, options)
            if not self._same_as(_table(file, self.path)[1]):
                raise DataError(f"{self.path}: unchanged, as what was written cannot be read again")
            if _version(self.path) != self.version:
                raise DataError(f"{self.path}: another process has changed it; try again")

    def _same_as(self, rows: Sequence[Row]) -> bool:
        """Return whether rows that were read again are those of this file."""
        if self.path.suffix.lower() == ".parquet":  # its columns have types
            return len(rows) == len(self.rows)
        return [self._texts(row) for row in rows] == [self._texts(row) for row in self.rows]

    def _texts(self, row: Row) -> list[str]:
        return ["" if row.get(name) is None else str(row[name]) for name in self.columns]

    def _text(self) -> str:
        """Return the rows as CSV or JSON."""
        kind = self.path.suffix.lower()
        if kind == ".csv":
            writer = csv.writer(buffer := CsvText())
            writer.writerows([self.columns, *map(self._texts, self.rows)])
            return buffer.getvalue()
        lines = [json.dumps(_present(row), ensure_ascii=False) for row in self.rows]
        return "[\n" + ",\n".join(lines) + "\n]\n" if kind == ".json" else "\n".join([*lines, ""])

    def _write_parquet(self, draft: Path) -> None:
        with needed(f"{self.path}: a Parquet file"):
            import pyarrow as pa
            import pyarrow.parquet as pq
        types = dict.fromkeys(self.columns, pa.string())
        types |= {"order": pa.int64(), "time": pa.timestamp("ms", "UTC")}
        if self.schema is not None:
            types |= dict(zip(self.schema.names, self.schema.types, strict=True))
        types["value"] = pa.float64()
        arrays = {
            name: _array([row.get(name) for row in self.rows], types[name]) for name in self.columns
        }
        pq.write_table(pa.table(arrays), draft, compression="zstd")


def text_of_cell(cell: object) -> str:
    """Return a cell as text, empty if it is missing."""
    return "" if cell is None else canonical_text(cell)


def _version(path: Path) -> tuple[int, ...] | None:
    """Return the time, the size and the inode of a file, or None if there is none."""
    if not path.exists():
        return None
    state = path.stat()
    return state.st_mtime_ns, state.st_size, state.st_ino


def _present(row: Row) -> Row:
    return {name: cell for name, cell in row.items() if cell is not None}


def _hint(path: Path) -> str:
    return f"`barograph append NEW.csv {path.name}` writes a history that can be extended"


def _table(file: InputFile, path: Path) -> tuple[list[str], list[Row], pa.Schema | None]:
    """Return the columns and the rows of a file, and the schema of Parquet."""
    kind, schema = path.suffix.lower(), None
    if kind == ".csv":
        columns, rows = _csv(file.text(), path)
    elif kind == ".parquet":
        rows = parquet_table(file).to_pylist()
        import pyarrow.parquet as pq

        schema = pq.read_schema(io.BytesIO(file.content or b""))
        columns = schema.names
    else:
        rows = [record.value for record in records(file)]
        if not all(isinstance(row, dict) for row in rows):
            raise DataError(f"{path}: must hold objects with order and value; {_hint(path)}")
        columns = list(dict.fromkeys(name for row in rows for name in row))
    check_keys(file, len(columns))
    return columns, rows, schema


def _csv(text: str, path: Path) -> tuple[list[str], list[Row]]:
    reader = csv.reader(io.StringIO(text, newline=""))
    rows: list[Row] = []
    try:
        columns = [name.strip() for name in next(reader, [])]
        if len(set(columns)) < len(columns):
            raise DataError(f"{path}: two columns have the same name")
        for cells in filter(None, reader):
            if len(cells) != len(columns):
                counts = f"{len(cells)} cells, but there are {len(columns)} columns"
                raise DataError(f"{path}: line {reader.line_num}: {counts}")
            rows.append(dict(zip(columns, cells, strict=True)))
    except csv.Error as error:
        raise DataError(f"{path}: line {reader.line_num}: {error}") from None
    return columns, rows


def _array(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return the cells of a column, of a type if they fit, else as text."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        moments = [
            datetime.fromisoformat(cell) if isinstance(cell, str) else cell for cell in cells
        ]
        return pa.array([m and (m if kind.tz else m.replace(tzinfo=None)) for m in moments], kind)
    try:
        return pa.array(cells, kind)
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in cells])
