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
from barograph.sources.report import Place, Skip

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

CELL = 8  # bytes of a number
BATCH = 20_000  # rows
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
    document = entries_of(file.json())
    is_lines = isinstance(document, Lines)
    numbers = document.numbers if isinstance(document, Lines) else range(1, len(document) + 1)
    unit = "line" if is_lines else "row"
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


def entries_of(document: Any) -> list[Any]:
    """Return the rows of decoded JSON: an array, `points` in an object, or the object."""
    rows = document.get("points", [document]) if isinstance(document, dict) else document
    return rows if isinstance(rows, list) else []


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

    A file of some KB can stand for many GB: its metadata says how many cells it has, and each of
    them may be the same long text, so texts are read as dictionaries until their sizes are known.

    Raises:
        ConfigError: pyarrow is not installed.
        DataError: The file is damaged, or larger than allowed once it is unpacked.
    """
    with needed(f"{file.name}: a Parquet file"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    content, size = io.BytesIO(file.content or b""), 0
    batches = []
    try:
        leaves = _within_limit(file, pq.ParquetFile(content).metadata)
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        with pq.ParquetFile(content, read_dictionary=texts) as stored:
            names = stored.schema_arrow.names
            check_keys(file, len(names))
            if len(set(names)) < len(names):
                raise DataError(f"{file.name}: two columns have the same name")
            for batch in stored.iter_batches(batch_size=BATCH):
                size += sum(map(_text_size, batch.columns))
                _require_within(file, size)
                batch.validate(full=True)  # texts may not be UTF-8
                batches.append(pa.RecordBatch.from_arrays([*map(_plain, batch.columns)], names))
    except (pa.ArrowException, OSError) as error:
        message = str(error).partition("\n")[0][:200]
        raise DataError(f"{file.name}: not a readable Parquet file: {message}") from None
    return pa.Table.from_batches(batches) if batches else pa.table({name: [] for name in names})


def _plain(column: pa.Array) -> pa.Array:
    """Return a column with each text in its place."""
    import pyarrow as pa

    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def _within_limit(file: InputFile, metadata: pq.FileMetaData) -> list[pq.ColumnSchema]:
    """Return the columns of a file, the sizes of whose numbers are within the limit."""
    leaves = [metadata.schema.column(k) for k in range(metadata.num_columns)]
    widths = [max(CELL, leaf.length or 0) for leaf in leaves]  # the length is that of fixed texts
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    sizes = (
        group.column(k).num_values * width for group in groups for k, width in enumerate(widths)
    )
    _require_within(file, sum(group.total_byte_size for group in groups))
    _require_within(file, sum(sizes))
    return leaves


def _require_within(file: InputFile, size: int) -> None:
    if size > file.options.max_bytes:
        limit = file.options.max_bytes // MEBIBYTE
        raise DataError(
            f"{file.name}: larger than {limit:,} MiB when unpacked; `max-size` in [input] of "
            "barograph.toml allows more"
        )


def _text_size(column: pa.Array) -> int:
    """Return the number of bytes of the texts in a column, each as often as it occurs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.StructArray):
        return sum(map(_text_size, column.flatten()))
    if isinstance(column, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        return _text_size(column.values)
    if not isinstance(column, pa.DictionaryArray):
        return 0
    lengths = pc.binary_length(column.dictionary).cast(pa.int64())
    return pc.sum(lengths.take(column.indices)).as_py() or 0


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
