"""The rows of a table in chunks, from CSV, JSON, JSON lines or Parquet."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from barograph.runtime.errors import DataError
from barograph.runtime.extras import needed
from barograph.sources.formats.base import CHUNK, HEAD, UTF_16, Chunk, InputFile, Sample, check_keys
from barograph.sources.formats.json_text import (
    CUT_OFF,
    MEBIBYTE,
    PARTS,
    decode_json,
    require_small,
    split_json,
)
from barograph.sources.formats.numbers import is_number
from barograph.sources.formats.roles import SYNONYMS, canonical
from barograph.sources.formats.unknown import described
from barograph.sources.report import Place, Skip

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

CELL = 8  # bytes of a number
PARQUET = b"PAR1"
LINES = re.compile(rb"(\[\s*\]\s*\n\s*)*\{")  # lines of objects may begin with empty lists


def read_rows(file: InputFile) -> Iterator[Chunk]:
    """Yield the rows of a file of any of these kinds.

    Raises:
        DataError: The file is damaged.
    """
    content = file.content or b""
    if content[:4] == PARQUET:
        return _parquet(file)
    start = content[:256].removeprefix(b"\xef\xbb\xbf").lstrip()
    if content[:2] not in UTF_16 and start[:1] in (b"{", b"["):
        return _json(file)
    from barograph.sources.formats.delimited import read_delimited

    return read_delimited(file)


def _json(file: InputFile) -> Iterator[Chunk]:
    """Yield the objects of an array, of `points` in an object, or of lines."""
    content = file.utf8()
    try:
        parts = PARTS.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        first = content.lstrip()
        if str(error) != CUT_OFF and LINES.match(first) and b"\n" in first.strip():
            return _lines(file, content)
        parts = file.json_parts()  # with NaN and Infinity, or an error
    if isinstance(parts, dict):
        parts = parts["points"] if "points" in parts else [msgspec.Raw(content)]
        if isinstance(parts, msgspec.Raw):
            parts = split_json(parts, file.name, file.largest)
        if not isinstance(parts, list):
            raise DataError(f"{file.name}: points is not an array")
    require_small(parts, file.name, file.largest)
    return _objects(file, parts)


def _require_row(file: InputFile, value: Any) -> None:
    """Refuse an only object that is a document: the numbers around its results are no results.

    Raises:
        DataError: It holds lists of objects, or objects in objects of objects, and neither it nor
            the user says where the value is.
    """
    row, options = value if isinstance(value, dict) else {}, file.options
    is_named = options.value_columns or "value" in options.mapping.values()
    has_value = any(canonical(k) in SYNONYMS["value"] for k, v in row.items() if is_number(v))
    if _is_nested(row) and not (is_named or has_value):
        looks, hint = described(Sample(file.path, (file.content or b"")[:HEAD]))
        raise DataError(f"{file.name}: {looks}; {hint}")


def _is_nested(value: Any, level: int = 0) -> bool:
    """Return whether a row holds more than numbers, texts and objects of them."""
    if isinstance(value, dict):
        return level > 1 or any(_is_nested(inner, level + 1) for inner in value.values())
    return isinstance(value, list) and any(isinstance(entry, dict) for entry in value)


def _objects(file: InputFile, values: Sequence[Any]) -> Iterator[Chunk]:
    decode = msgspec.json.Decoder().decode
    for start in range(0, len(values), CHUNK):
        part = values[start : start + CHUNK]
        rows = [
            _row(raw, decode, f"[{start + k}]") if type(raw) is msgspec.Raw else raw
            for k, raw in enumerate(part)
        ]
        if len(values) == 1:
            _require_row(file, rows[0])
        yield _chunk(file, rows, start, 0)


def _lines(file: InputFile, content: bytes) -> Iterator[Chunk]:
    """Yield the objects of lines."""
    decoder = msgspec.json.Decoder()
    stream, start = io.BytesIO(content), 0
    while lines := list(itertools.islice(stream, CHUNK)):
        try:
            rows = decoder.decode_lines(b"".join(lines))
            if len(rows) != len(lines):
                raise msgspec.DecodeError
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            rows = [
                _row(line, decoder.decode, f"line {start + k + 1}") for k, line in enumerate(lines)
            ]
        yield _chunk(file, rows, start, 1)
        start += len(lines)


class _Blank:
    """Stands for an empty line."""


def _row(raw: Any, decode: Callable[[Any], Any], where: str) -> Any:
    """Return a decoded row, or text that is not JSON."""
    if isinstance(raw, bytes) and not raw.strip():
        return _Blank
    try:
        return decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return decode_json(bytes(raw).decode("utf-8", "replace"), where)
    except DataError:
        return bytes(raw)[:60].decode("utf-8", "replace").strip()


def _chunk(file: InputFile, rows: list[Any], start: int, lines: int) -> Chunk:
    """Turn objects into columns; name rows that are no objects."""
    skips: list[Skip] = []
    numbers: range | list[int] = range(start, start + len(rows))
    if set(map(type, rows)) != {dict}:
        pairs = [(n, r) for n, r in zip(numbers, rows, strict=True) if r is not _Blank and r != []]
        for number, row in pairs:
            if not isinstance(row, dict):
                place = Place(file.name, number + 1, "line" if lines else "row")
                skips.append(Skip(place, "(whole row)", row, "not a JSON object"))
        pairs = [(number, row) for number, row in pairs if isinstance(row, dict)]
        numbers, rows = [number for number, _ in pairs], [row for _, row in pairs]
    keys = dict.fromkeys(itertools.chain.from_iterable(rows))
    check_keys(file, len(keys))
    flat = _flattened(rows)
    names = keys if flat is rows else dict.fromkeys(itertools.chain.from_iterable(flat))
    return Chunk({name: [row.get(name) for row in flat] for name in names}, numbers, lines, skips)


def _flattened(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return objects whose nested objects are columns `outer.inner`; `args` stays as it is."""
    if not any(type(value) is dict for row in rows[:100] for value in row.values()):
        return rows
    flat = []
    for row in rows:
        columns: dict[str, Any] = {}
        for name, value in row.items():
            if isinstance(value, dict) and name.lower() not in ("args", "params", "parameters"):
                columns |= {f"{name}.{inner}": part for inner, part in value.items()}
            else:
                columns[name] = value
        flat.append(columns)
    return flat


def _parquet(file: InputFile) -> Iterator[Chunk]:
    """Yield the rows of a Parquet file in chunks."""
    start = 0
    for batch in parquet_batches(file):
        names = batch.schema.names
        cells = {name: _parquet_cells(batch.column(name)) for name in names}
        yield Chunk(cells, range(start, start + batch.num_rows), 0)
        start += batch.num_rows


def parquet_batches(file: InputFile) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file in batches.

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
    try:
        leaves = _within_limit(file, pq.ParquetFile(content).metadata)
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        with pq.ParquetFile(content, read_dictionary=texts) as table:
            names = table.schema_arrow.names
            check_keys(file, len(names))
            if len(set(names)) < len(names):
                raise DataError(f"{file.name}: two columns have the same name")
            for batch in table.iter_batches(batch_size=CHUNK):
                size += sum(map(_text_size, batch.columns))
                _require_within(file, size)
                batch.validate(full=True)  # texts may not be UTF-8
                columns = [
                    column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
                    for column in batch.columns
                ]
                yield pa.RecordBatch.from_arrays(columns, names)
    except (pa.ArrowException, OSError) as error:
        message = str(error).partition("\n")[0][:200]
        raise DataError(f"{file.name}: not a readable Parquet file: {message}") from None


def _within_limit(file: InputFile, metadata: pq.FileMetaData) -> list[pq.ColumnSchema]:
    """Return the columns of a file, the sizes of whose numbers are within the limit."""
    leaves = [metadata.schema.column(k) for k in range(metadata.num_columns)]
    widths = [max(CELL, leaf.length or 0) for leaf in leaves]  # the length is that of fixed texts
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    _require_within(file, sum(group.total_byte_size for group in groups))
    cells = [
        (group.column(k).num_values, widths[k]) for group in groups for k in range(len(leaves))
    ]
    _require_within(file, sum(count * width for count, width in cells))
    return leaves


def _require_within(file: InputFile, size: int) -> None:
    if size > file.options.max_bytes:
        limit = file.options.max_bytes // MEBIBYTE
        raise DataError(
            f"{file.name}: larger than {limit:,} MiB when unpacked; --max-size MIB allows more"
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


def _parquet_cells(column: pa.Array) -> Sequence[Any]:
    """Return the cells; times as milliseconds since 1970."""
    import pyarrow as pa

    types, kind = pa.types, column.type
    if types.is_timestamp(kind) or types.is_date(kind):
        is_finer = types.is_timestamp(kind) and kind.unit in ("us", "ns")
        moments = column.cast(pa.timestamp("ms"), safe=not is_finer).cast(pa.int64())
        return [None if cell is None else Milliseconds(cell) for cell in moments.to_pylist()]
    if types.is_floating(kind) and not column.null_count:
        numbers: list[Any] = column.to_numpy(zero_copy_only=False).astype(np.float64).tolist()
        return numbers
    cells: list[Any] = column.to_pylist()
    is_bytes = types.is_binary(kind)
    return [cell and cell.decode("utf-8", "replace") for cell in cells] if is_bytes else cells


class Milliseconds(int):
    """A time in milliseconds since 1970, whatever its size."""
