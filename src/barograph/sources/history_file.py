"""A history file: a long table with a row for each result, which is replaced in one step.

CSV, NDJSON, JSON and Parquet are read into rows and written back. Columns and values that Barograph
does not know are kept as they are.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barograph.results.series import LABELS, canonical_text
from barograph.runtime.errors import ConfigError, DataError
from barograph.runtime.extras import needed
from barograph.runtime.files import CsvText, whole
from barograph.sources.formats.base import InputFile, ReadOptions, check_keys
from barograph.sources.formats.content import content_of
from barograph.sources.formats.nodes import records
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
        types: The types of the columns of a Parquet file.
    """

    path: Path
    columns: list[str] = field(default_factory=lambda: list(COLUMNS))
    rows: list[Row] = field(default_factory=list)
    types: Mapping[str, pa.DataType] = field(default_factory=dict)

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
        content = content_of(path, str(path), options) if path.exists() else b""
        if not content.strip():
            return cls(path)
        file = InputFile(str(path), path, content, options)
        history = cls(path, *_table(file))
        check_keys(file, len(history.columns))
        hint = f"`barograph append NEW.csv {path.name}` writes a history that can be extended"
        missing = [name for name in NEEDED if name not in history.columns]
        if missing:
            noun = "column" if len(missing) == 1 else "columns"
            raise DataError(f"{path}: misses the {noun} {', '.join(missing)}; {hint}")
        if not any(name in history.columns for name in LABELS):
            raise DataError(f"{path}: has none of the columns {', '.join(LABELS)}; {hint}")
        return history

    def texts(self, name: str) -> Iterator[str]:
        """Yield the cells of a column as text; missing ones are empty."""
        return (text_of(row.get(name)) for row in self.rows)

    def extend(self, rows: Sequence[Row]) -> None:
        """Add rows at the end, and the columns that they need."""
        filled = [{name: c for name, c in row.items() if c not in ("", None)} for row in rows]
        self.columns = [*dict.fromkeys(chain(self.columns, *filled))]
        self.rows += filled

    def write(self) -> None:
        """Replace the file, once the new one could be read again.

        Raises:
            DataError: It could not be read again; the old file is unchanged.
        """
        with whole(self.path) as draft:
            if self.path.suffix.lower() == ".parquet":
                self._write_parquet(draft)
                return
            draft.write_bytes(self._encoded().encode())
            file = InputFile(str(self.path), self.path, draft.read_bytes())
            if [*map(texts_of, _table(file)[1])] != [*map(texts_of, self.rows)]:
                raise DataError(f"{self.path}: unchanged, as what was written cannot be read again")

    def _encoded(self) -> str:
        """Return the rows as CSV or JSON."""
        if self.path.suffix.lower() == ".csv":
            rows = ([row.get(name) for name in self.columns] for row in self.rows)
            csv.writer(buffer := CsvText()).writerows([self.columns, *rows])
            return buffer.getvalue()
        present = ({name: c for name, c in row.items() if c is not None} for row in self.rows)
        lines = [json.dumps(row, ensure_ascii=False) for row in present]
        is_list = self.path.suffix.lower() == ".json"
        return "[\n" + ",\n".join(lines) + "\n]\n" if is_list else "\n".join([*lines, ""])

    def _write_parquet(self, draft: Path) -> None:
        with needed(f"{self.path}: a Parquet file"):
            import pyarrow as pa
            import pyarrow.parquet as pq
        types = dict.fromkeys(self.columns, pa.string())
        types |= {"order": pa.int64(), "time": pa.timestamp("ms", "UTC")}
        types |= {**self.types, "value": pa.float64()}
        columns = {name: [row.get(name) for row in self.rows] for name in self.columns}
        arrays = {name: _array(cells, types[name]) for name, cells in columns.items()}
        pq.write_table(pa.table(arrays), draft, compression="zstd")


def _table(file: InputFile) -> tuple[list[str], list[Row], Mapping[str, pa.DataType]]:
    """Return the columns, the rows and the types of a history, by the end of its name."""
    kind = Path(file.name).suffix.lower()
    if kind == ".csv":
        return _csv(file)
    if kind == ".parquet":
        table = parquet_table(file)
        import pyarrow.parquet as pq

        schema = pq.read_schema(io.BytesIO(file.content or b""))
        return schema.names, table.to_pylist(), dict(zip(schema.names, schema.types, strict=True))
    rows = [record.value for record in records(file)]
    if not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{file.name}: must hold objects with order and value")
    return [*dict.fromkeys(chain(*rows))], rows, {}


def _csv(file: InputFile) -> tuple[list[str], list[Row], Mapping[str, pa.DataType]]:
    reader = csv.reader(io.StringIO(file.text(), newline=""))
    try:
        columns, *lines = ([name.strip() for name in next(reader, [])], *filter(None, reader))
    except csv.Error as error:
        raise DataError(f"{file.name}: line {reader.line_num}: {error}") from None
    if len(set(columns)) < len(columns):
        raise DataError(f"{file.name}: two columns have the same name")
    for number, line in enumerate(lines, 1):
        if len(line) != len(columns):
            counts = f"{len(line)} cells, but there are {len(columns)} columns"
            raise DataError(f"{file.name}: row {number}: {counts}")
    return columns, [dict(zip(columns, line, strict=True)) for line in lines], {}


def _array(column: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return the cells of a column, of a type if they fit, else as text."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        moments = [datetime.fromisoformat(c) if isinstance(c, str) else c for c in column]
        return pa.array([m and (m if kind.tz else m.replace(tzinfo=None)) for m in moments], kind)
    try:
        return pa.array(column, kind)
    except (pa.ArrowException, TypeError, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in column])


def text_of(cell: object) -> str:
    """Return a cell as text; a missing one is empty."""
    return "" if cell is None else canonical_text(cell)


def texts_of(row: Row) -> dict[str, str]:
    """Return the cells of a row that are not empty, as texts."""
    return {name: text for name, cell in row.items() if (text := text_of(cell))}
