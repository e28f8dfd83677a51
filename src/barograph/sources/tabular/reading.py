"""Read a CSV, JSON or Parquet file in batches; convert its columns and report invalid rows."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from barograph.errors import DataError
from barograph.series import Ints
from barograph.sources.base import Place, Skip
from barograph.sources.fields import FieldError
from barograph.sources.tabular.convert import Converter, Faults
from barograph.sources.tabular.objects import (
    BATCH,
    LINES,
    WHOLE,
    Malformed,
    Raw,
    opened,
    read_objects,
)

BLOCK = 1 << 22  # bytes of a CSV in memory; no row may be longer
FORMATS = (".parquet", ".csv", ".csv.gz", *WHOLE, *LINES)


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """Read at most `size` bytes; none at the end."""
        ...


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Which columns a file must have, which it may have, and what they hold.

    Args:
        needed: The columns without which there is no table, each with its converter.
        allowed: The columns that may be missing.
        others: The converter for columns of any other name, by name; None where it is unknown.
    """

    needed: Mapping[str, Converter]
    allowed: Mapping[str, Converter]
    others: Callable[[str], Converter | None] = lambda _: None

    def converters(self, path: Path, names: list[str]) -> dict[str, Converter]:
        """Return the converter of every column of a file."""
        missing = [name for name in self.needed if name not in names]
        if missing:
            raise DataError(f"{path}: misses the columns {missing}; has {names}")
        if len(set(names)) < len(names):
            raise DataError(f"{path}: two columns of one name; has {names}")
        known = {**self.needed, **self.allowed}
        found = {name: known.get(name) or self.others(name) for name in names}
        unknown = [name for name, converter in found.items() if converter is None]
        if unknown:
            raise DataError(f"{path}: unknown columns {unknown}; known are {sorted(known)}")
        return {name: converter for name, converter in found.items() if converter is not None}


@dataclass(frozen=True, slots=True)
class TableRows:
    """Valid rows of a file, and their numbers, counted from 1."""

    columns: dict[str, pa.Array]
    numbers: Ints


def read(
    path: Path, layout: TableLayout, kind: str, delimiter: str = ","
) -> Iterator[TableRows | Skip]:
    """Stream a file: of each batch the bad rows, then the sound ones.

    Args:
        path: The file.
        layout: Its columns.
        kind: What a row is, for those that are skipped.
        delimiter: Character between the cells of a CSV.

    Raises:
        DataError: The file cannot be read, or has other columns than it should.
    """
    with _as_data_error(path), path.open("rb"):
        names, batches = _raw(path, delimiter)
        converters = layout.converters(path, names)
        count = 0
        for raw in batches:
            numbers = _numbers(raw, count)
            count += raw.table.num_rows + len(raw.malformed)
            for row in raw.malformed:
                yield Skip(Place(str(path), row.number), row.field, row.value, row.reason, kind)
            columns, faults = _converted(raw.table, converters)
            for number, fault in sorted(faults.items()):
                place = Place(str(path), int(numbers[number]))
                yield Skip(place, fault.field, fault.value, fault.reason, kind)
            yield _without(columns, numbers, faults)


@contextmanager
def _as_data_error(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, EOFError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    except (pa.ArrowException, UnicodeDecodeError, zlib.error) as error:
        raise DataError(f"{path}: not a readable table: {error}") from error


def _raw(path: Path, delimiter: str) -> tuple[list[str], Iterator[Raw]]:
    if path.suffix == ".parquet":
        return _parquet(path)
    return read_objects(path) if path.name.endswith(WHOLE + LINES) else _csv(path, delimiter)


def _parquet(path: Path) -> tuple[list[str], Iterator[Raw]]:
    file = pq.ParquetFile(path)
    return file.schema_arrow.names, (Raw(batch, []) for batch in _closing(file))


def _closing(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    with file:
        yield from file.iter_batches(batch_size=BATCH)


def _csv(path: Path, delimiter: str) -> tuple[list[str], Iterator[Raw]]:
    """Read every cell as text; the converters interpret it later."""
    malformed: list[Malformed] = []

    def set_aside(row: csv.InvalidRow) -> str:
        reason = "not as many cells as columns"
        # pyarrow counts the header as row 1.
        malformed.append(Malformed(row.number - 1, "(whole row)", row.text, reason))
        return "skip"

    options = csv.ReadOptions(use_threads=False, block_size=BLOCK)
    parsing = csv.ParseOptions(delimiter=delimiter, invalid_row_handler=set_aside)
    with (
        _recoded(path) as stream,
        csv.open_csv(stream, options, parsing) as reader,
    ):
        names = reader.schema.names
    malformed.clear()

    def batches() -> Iterator[Raw]:
        text = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
        with (
            _recoded(path) as stream,
            csv.open_csv(stream, options, parsing, text) as reader,
        ):
            for batch in reader:
                _refuse_open_quotes(path, batch, malformed)
                yield Raw(batch, malformed.copy())
                malformed.clear()
            rest = pa.RecordBatch.from_pylist([], reader.schema)  # malformed rows may be the last
            _refuse_open_quotes(path, rest, malformed)
            yield Raw(rest, malformed.copy())

    return names, batches()


@contextmanager
def _recoded(path: Path) -> Iterator[pa.PythonFile]:
    with opened(path) as file:
        yield pa.PythonFile(Recoder(file), mode="r")


class Recoder:
    """A file in which U+FFFD replaces invalid UTF-8, which pyarrow would refuse."""

    closed = False

    def __init__(self, file: Readable) -> None:
        self._file, self._rest = file, b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, size: int) -> bytes:
        """Read `size` bytes, fewer only at the end."""
        while len(self._rest) < size:
            chunk = self._file.read(size)
            self._rest += self._decoder.decode(chunk, final=not chunk).encode()
            if not chunk:
                break
        found, self._rest = self._rest[:size], self._rest[size:]
        return found


def _refuse_open_quotes(path: Path, batch: pa.RecordBatch, malformed: list[Malformed]) -> None:
    """Refuse a quote that is never closed: it hides the rows after it, so none can be counted."""
    swallowed = any("\n" in (row.value or "") for row in malformed) or any(
        pc.any(pc.match_substring(column, "\n")).as_py() for column in batch.columns
    )
    if swallowed:
        raise DataError(f"{path}: a quoted cell runs over the end of its line")


def _numbers(raw: Raw, count: int) -> Ints:
    """Return the numbers of the well-formed rows, after the first `count` rows."""
    total = raw.table.num_rows + len(raw.malformed)
    numbers = np.arange(count + 1, count + total + 1, dtype=np.int64)
    return np.setdiff1d(numbers, np.array([row.number for row in raw.malformed], np.int64))


def _converted(
    table: pa.RecordBatch, converters: Mapping[str, Converter]
) -> tuple[dict[str, pa.Array], Faults]:
    """Convert all columns; return them with the first error of each invalid row."""
    columns: dict[str, pa.Array] = {}
    faults: Faults = {}
    for name, converter in converters.items():
        columns[name], found = converter(table.column(name), name)
        faults = found | faults
    return columns, faults


def _without(columns: dict[str, pa.Array], numbers: Ints, faults: Faults) -> TableRows:
    if not faults:
        return TableRows(columns, numbers)
    sound = np.ones(numbers.size, dtype=bool)
    sound[list(faults)] = False
    keep = pa.array(sound)
    kept = {name: column.filter(keep) for name, column in columns.items()}
    return TableRows(kept, numbers[sound])


def required(converter: Converter) -> Converter:
    """Return the converter for a column that must not have empty cells."""

    def convert(array: pa.Array, field: str) -> tuple[pa.Array, Faults]:
        found, faults = converter(array, field)
        if found.null_count > len(faults):
            empty = np.flatnonzero(found.is_null().to_numpy(zero_copy_only=False))
            missing = {int(row): FieldError(field, None, f"{field} is missing") for row in empty}
            faults = missing | faults
        return found, faults

    return convert
