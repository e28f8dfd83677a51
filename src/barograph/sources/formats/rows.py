"""The rows of a table: CSV, TSV and the like, JSON, JSON lines or Parquet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from barograph.runtime.errors import DataError
from barograph.runtime.extras import needed
from barograph.sources.formats.base import InputFile, check_keys
from barograph.sources.formats.cells import NUMBER
from barograph.sources.formats.dates import DATE, Milliseconds
from barograph.sources.formats.json_text import MEBIBYTE, Lines
from barograph.sources.formats.roles import KNOWN, canonical
from barograph.sources.report import Place, Skip

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

CELL = 8  # bytes of a number
BATCH = 20_000  # rows
PARQUET = b"PAR1"
ARGUMENTS = ("args", "params", "parameters")
DELIMITERS = (",", ";", "\t", "|")
COMMENT = "#"
BEFORE = 1000  # lines before the header
# A measured value; columns may be called 0.99 or 50, as quantiles and numbers of threads are.
MEASURED = re.compile(r"[+-]?(?:[1-9]\d*[.,]\d+|0?[.,]\d{5,})(?:[eE][+-]?\d+)?")
WIDTH = "not as many cells as columns"


class TableRows(NamedTuple):
    """The cells of a table.

    Attributes:
        cells: The cells of each column.
        rows: The number of each row, as messages name it.
        unit: What is counted: the lines of a text, or rows.
        skips: Rows that cannot be read.
        delimiter: The character between the cells of a text.
    """

    cells: dict[str, Any]
    rows: Sequence[int]
    unit: str
    skips: Sequence[Skip] = ()
    delimiter: str = ""

    def place(self, file: InputFile, row: int) -> Place:
        """Return where messages find a row."""
        return Place(file.name, self.rows[row], self.unit)


def read_table(file: InputFile) -> TableRows:
    """Return the cells of a file of any of these kinds.

    Raises:
        DataError: The file is damaged.
    """
    if (file.content or b"")[:4] == PARQUET:
        table = parquet_table(file)
        cells = {name: _parquet_cells(table.column(name)) for name in table.column_names}
        return TableRows(cells, range(1, table.num_rows + 1), "row")
    if file.fault is not None:
        raise file.fault
    return _json(file) if file.is_json else read_delimited(file)


def _json(file: InputFile) -> TableRows:
    """Return the objects of an array, of `points` in an object, or of lines."""
    document = entries_of(file.json())
    unit, numbers = "row", list(range(1, len(document) + 1))
    if isinstance(document, Lines):
        unit, numbers = "line", document.numbers
    rows: list[dict[str, Any]] = []
    kept, skips = [], []
    for number, row in zip(numbers, document, strict=True):
        if isinstance(row, dict):
            rows.append(row)
            kept.append(number)
        elif row != []:
            place = Place(file.name, number, unit)
            skips.append(Skip(place, "(whole row)", row, "not a JSON object"))
    check_keys(file, len(set(chain.from_iterable(rows))))
    flat = [*map(_flat, rows)]
    names = dict.fromkeys(chain.from_iterable(flat))
    return TableRows({name: [row.get(name) for row in flat] for name in names}, kept, unit, skips)


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
        if type(value) is dict and name.lower() not in ARGUMENTS:
            columns |= {f"{name}.{inner}": part for inner, part in value.items()}
        else:
            columns[name] = value
    return columns


def read_delimited(file: InputFile) -> TableRows:
    """Return the rows of a file.

    Raises:
        DataError: There is no header, the file is damaged, or it is neither UTF-8 nor UTF-16 with a
            byte order mark.
    """
    delimiter, names, skipped = _layout_of(file)
    width = len(names)
    check_keys(file, width)
    reader = csv.reader(
        islice(_lines(file), skipped, None),
        delimiter=delimiter,
        quotechar=file.options.quote,
        skipinitialspace=True,
        strict=True,
    )
    rows, numbers, skips = [], [], []
    line = skipped + 1
    try:
        for row in reader:
            is_comment = bool(row) and (width == 1 or len(row) != width) and row[0][:1] == COMMENT
            if len(row) == width and not is_comment:
                rows.append(row)
                numbers.append(line)
            elif row and not is_comment:
                text = delimiter.join(row)
                skips.append(Skip(Place(file.name, line, "line"), "(whole row)", text, WIDTH))
            line = skipped + reader.line_num + 1
    except csv.Error as error:
        reason = f"not readable as CSV: {error}"
        if "unexpected end" in reason:
            reason = "a quoted cell has no end"
        elif "larger" in reason:
            reason = "a cell is too long"
        raise DataError(f"{file.name}: line {line}: {reason}") from None
    columns: Sequence[Sequence[str]] = list(zip(*rows, strict=True)) or [()] * width
    return TableRows(dict(zip(names, columns, strict=True)), numbers, "line", skips, delimiter)


def _lines(file: InputFile) -> Iterator[str]:
    """Yield the lines of a text, with their ends."""
    content = file.utf8()
    if not content.isascii():
        file.text()  # raises an error that names the byte
    return io.TextIOWrapper(io.BytesIO(content), "utf-8", newline="")


def _layout_of(file: InputFile) -> tuple[str, list[str], int]:
    """Return the delimiter, the names of the columns, and the number of lines before the rows."""
    lines = _lines(file)
    listed = enumerate(islice(lines, BEFORE))
    found = (pair for pair in listed if pair[1].strip() and pair[1].lstrip()[0] != COMMENT)
    skipped, header = next(found, (0, ""))
    where = f"{file.name}: line {skipped + 1}"
    no_header = DataError(f"{where}: no header; the first line must name the columns")
    if not header:
        raise no_header
    delimiter = file.options.delimiter or _sniffed(header, list(islice(lines, 20)))
    try:
        cells = next(csv.reader([header], delimiter=delimiter, quotechar=file.options.quote), [""])
    except csv.Error as error:
        raise DataError(f"{where}: {error}") from None
    names = [name.strip() for name in cells]
    numbers = [name for name in names if NUMBER.fullmatch(name.replace(",", "."))]
    if len(names) == len(numbers) == 1:  # plain numbers, one in each line
        return delimiter, ["value"], skipped
    has_values = bool(numbers) and all(map(MEASURED.fullmatch, numbers))
    is_named = not KNOWN.isdisjoint(map(canonical, names))
    if (
        (has_values and not is_named)
        or not {*names} - {*numbers, ""}
        or any(map(DATE.match, names))
    ):
        raise no_header
    while len(names) > 1 and not names[-1]:  # lines that end with a delimiter
        names = [*names[:-1], f"(column {len(names)})"]
    return delimiter, _distinct(names, file.name), skipped + 1


def _distinct(names: list[str], where: str) -> list[str]:
    """Return the names of columns, those that are repeated with a number."""
    distinct: list[str] = []
    for place, name in enumerate(names):
        count = names[: place + 1].count(name)
        if count > 1 and canonical(name) in KNOWN:
            raise DataError(f"{where}: two columns are called {name!r}; rename one")
        distinct.append(name if count == 1 else f"{name} ({count})")
    if len(set(distinct)) < len(distinct):
        raise DataError(f"{where}: several columns have the same name; rename them")
    return distinct


def _sniffed(header: str, rows: Sequence[str]) -> str:
    """Return the delimiter: the one that cuts the header into most cells, and rows into as many."""
    found = [delimiter for delimiter in DELIMITERS if delimiter in header]

    def fit(delimiter: str) -> tuple[int, int]:
        count = header.count(delimiter)
        return sum(row.count(delimiter) == count for row in rows), count

    return max(found, key=fit, default=",")


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
        texts = _texts_within_limit(file, pq.ParquetFile(content).metadata)
        with pq.ParquetFile(content, read_dictionary=texts) as stored:
            names = stored.schema_arrow.names
            check_keys(file, len(names))
            if len(set(names)) < len(names):
                raise DataError(f"{file.name}: two columns have the same name")
            for batch in stored.iter_batches(batch_size=BATCH):
                size += sum(map(_text_size, batch.columns))
                _require_within(file, size)
                batch.validate(full=True)  # texts may not be UTF-8
                columns = [
                    column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
                    for column in batch.columns
                ]
                batches.append(pa.RecordBatch.from_arrays(columns, names))
    except (pa.ArrowException, OSError) as error:
        message = str(error).partition("\n")[0][:200]
        raise DataError(f"{file.name}: not a readable Parquet file: {message}") from None
    return pa.Table.from_batches(batches) if batches else pa.table({name: [] for name in names})


def _texts_within_limit(file: InputFile, metadata: pq.FileMetaData) -> list[str]:
    """Return the columns of texts of a file, the sizes of whose numbers are within the limit."""
    leaves = [metadata.schema.column(k) for k in range(metadata.num_columns)]
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    _require_within(file, sum(group.total_byte_size for group in groups))
    sizes = (
        group.column(k).num_values * max(CELL, leaf.length or 0)  # the length of fixed texts
        for group in groups
        for k, leaf in enumerate(leaves)
    )
    _require_within(file, sum(sizes))
    return [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]


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
