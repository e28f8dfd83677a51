"""The cells of a table, from CSV, JSON, JSON lines or Parquet."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from barograph.runtime.errors import DataError
from barograph.runtime.extras import needed
from barograph.sources.formats.base import InputFile, check_keys
from barograph.sources.formats.dates import Milliseconds
from barograph.sources.formats.delimited import TableRows, read_delimited
from barograph.sources.formats.json_text import MEBIBYTE, Lines
from barograph.sources.formats.unknown import described
from barograph.sources.report import Place, Skip

if TYPE_CHECKING:
    import pyarrow as pa

CELL = 8  # bytes of a number
PARQUET = b"PAR1"
ARGUMENTS = ("args", "params", "parameters")


def read_table(file: InputFile) -> TableRows:
    """Return the cells of a file of any of these kinds.

    Raises:
        DataError: The file is damaged.
    """
    if (file.content or b"")[:4] == PARQUET:
        return _parquet(file)
    if file.fault is not None:
        raise file.fault
    return _json(file) if file.is_json else read_delimited(file)


def _json(file: InputFile) -> TableRows:
    """Return the objects of an array, of `points` in an object, or of lines."""
    document = file.json()
    if isinstance(document, dict):
        document = document.get("points", [document])
    if not isinstance(document, list):
        raise DataError(f"{file.name}: points is not an array")
    is_lines = isinstance(document, Lines)
    numbers = document.numbers if isinstance(document, Lines) else range(1, len(document) + 1)
    unit = "line" if is_lines else "row"
    if len(document) == 1:
        _require_row(file, document[0])
    skips = [
        Skip(Place(file.name, number, unit), "(whole row)", row, "not a JSON object")
        for number, row in zip(numbers, document, strict=True)
        if not isinstance(row, dict) and row != []
    ]
    pairs = zip(numbers, document, strict=True)
    kept = [(number, row) for number, row in pairs if isinstance(row, dict)]
    check_keys(file, len(set(itertools.chain.from_iterable(row for _, row in kept))))
    rows = [_flat(row) for _, row in kept]
    names = dict.fromkeys(itertools.chain.from_iterable(rows))
    cells = {name: [row.get(name) for row in rows] for name in names}
    return TableRows(cells, [number for number, _ in kept], unit, skips)


def _require_row(file: InputFile, value: Any) -> None:
    """Refuse an only object that is a document: the numbers around its results are no results.

    Raises:
        DataError: It holds lists of objects, or objects in objects of objects.
    """
    if _is_nested(value):
        looks, hint = described(file)
        raise DataError(f"{file.name}: {looks}; {hint}")


def _is_nested(value: Any, level: int = 0) -> bool:
    """Return whether a row holds more than numbers, texts and objects of them."""
    if isinstance(value, dict):
        return level > 1 or any(_is_nested(inner, level + 1) for inner in value.values())
    return isinstance(value, list) and any(isinstance(entry, dict) for entry in value)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return an object whose nested objects are columns `outer.inner`; `args` stays as it is."""
    if not any(type(value) is dict for value in row.values()):
        return row
    columns: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict) and name.lower() not in ARGUMENTS:
            columns |= {f"{name}.{inner}": part for inner, part in value.items()}
        else:
            columns[name] = value
    return columns


def _parquet(file: InputFile) -> TableRows:
    table = parquet_table(file)
    cells = {name: _parquet_cells(table.column(name)) for name in table.column_names}
    return TableRows(cells, range(1, table.num_rows + 1), "row")


def parquet_table(file: InputFile) -> pa.Table:
    """Return the rows of a Parquet file.

    A file of some KB can stand for many GB, so each of its cells counts as a number.

    Raises:
        ConfigError: pyarrow is not installed.
        DataError: The file is damaged, or larger than allowed once it is unpacked.
    """
    with needed(f"{file.name}: a Parquet file"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    try:
        with pq.ParquetFile(io.BytesIO(file.content or b"")) as stored:
            about, names = stored.metadata, stored.schema_arrow.names
            check_keys(file, len(names))
            if len(set(names)) < len(names):
                raise DataError(f"{file.name}: two columns have the same name")
            groups = [about.row_group(k).total_byte_size for k in range(about.num_row_groups)]
            size, limit = about.num_rows * about.num_columns * CELL, file.options.max_bytes
            if max(size, sum(groups)) > limit:
                shown = f"{limit // MEBIBYTE:,} MiB when unpacked; --max-size MIB allows more"
                raise DataError(f"{file.name}: larger than {shown}")
            table = stored.read()
        table.validate(full=True)  # texts may not be UTF-8
        return table
    except (pa.ArrowException, OSError) as error:
        message = str(error).partition("\n")[0][:200]
        raise DataError(f"{file.name}: not a readable Parquet file: {message}") from None


def _parquet_cells(column: pa.ChunkedArray) -> Sequence[Any]:
    """Return the cells; times as milliseconds since 1970."""
    import pyarrow as pa

    types, kind = pa.types, column.type
    if types.is_timestamp(kind) or types.is_date(kind):
        is_finer = types.is_timestamp(kind) and kind.unit in ("us", "ns")
        moments = column.cast(pa.timestamp("ms"), safe=not is_finer).cast(pa.int64())
        return [None if cell is None else Milliseconds(cell) for cell in moments.to_pylist()]
    if types.is_floating(kind) and not column.null_count:
        numbers: list[Any] = column.to_numpy().tolist()
        return numbers
    cells: list[Any] = column.to_pylist()
    is_bytes = types.is_binary(kind)
    return [cell and cell.decode("utf-8", "replace") for cell in cells] if is_bytes else cells
