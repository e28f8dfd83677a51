"""The rows of CSV, TSV and the like: delimiter, header, and the line of each row."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from barograph.runtime.errors import DataError
from barograph.sources.formats.base import InputFile, check_keys
from barograph.sources.formats.cells import NUMBER
from barograph.sources.formats.dates import DATE
from barograph.sources.formats.roles import KNOWN, canonical
from barograph.sources.report import Place, Skip

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


def lines_of_text(file: InputFile) -> Iterator[str]:
    """Yield the lines of a text, with their ends.

    Raises:
        DataError: The file is neither UTF-8 nor UTF-16 with a byte order mark.
    """
    content = file.utf8()
    if not content.isascii():
        file.text()
    return io.TextIOWrapper(io.BytesIO(content), "utf-8", newline="")


def read_delimited(file: InputFile) -> TableRows:
    """Return the rows of a file.

    Raises:
        DataError: There is no header, or the file is damaged.
    """
    delimiter, names, skipped = layout_of(file)
    width, quote = len(names), file.options.quote
    check_keys(file, width)
    reader = csv.reader(
        itertools.islice(lines_of_text(file), skipped, None),
        delimiter=delimiter,
        quotechar=quote,
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
        reason = str(error)
        if "unexpected end" in reason:
            raise DataError(f"{file.name}: line {line}: a quoted cell has no end") from None
        reason = "a cell is too long" if "larger" in reason else f"not readable as CSV: {reason}"
        raise DataError(f"{file.name}: line {line}: {reason}") from None
    columns: Sequence[Sequence[str]] = list(zip(*rows, strict=True)) or [()] * width
    cells = dict(zip(names, columns, strict=True))
    return TableRows(cells, numbers, "line", skips, delimiter)


def layout_of(file: InputFile) -> tuple[str, list[str], int]:
    """Return the delimiter, the names of the columns, and the number of lines before the rows.

    Raises:
        DataError: There is no header, or two columns have the same name.
    """
    lines = lines_of_text(file)
    skipped, header = 0, ""
    for line in itertools.islice(lines, BEFORE):
        if line.strip() and not line.lstrip().startswith(COMMENT):
            header = line
            break
        skipped += 1
    no_header = f"{file.name}: line {skipped + 1}: no header; the first line must name the columns"
    if not header:
        raise DataError(no_header)
    delimiter = file.options.delimiter or sniffed(header, list(itertools.islice(lines, 20)))
    try:
        cells = next(csv.reader([header], delimiter=delimiter, quotechar=file.options.quote), [""])
    except csv.Error as error:
        raise DataError(f"{file.name}: line {skipped + 1}: {error}") from None
    names = [name.strip() for name in cells]
    numbers = [name for name in names if NUMBER.fullmatch(name.replace(",", "."))]
    if len(names) == len(numbers) == 1:  # plain numbers, one in each line
        return delimiter, ["value"], skipped
    if _is_data(names, numbers):
        raise DataError(no_header)
    while len(names) > 1 and not names[-1]:  # lines that end with a delimiter
        names = [*names[:-1], f"(column {len(names)})"]
    return delimiter, _distinct(names, file.name), skipped + 1


def _is_data(names: Sequence[str], numbers: Sequence[str]) -> bool:
    """Return whether a first line has only numbers, a date, or values and no name of a field."""
    if all(name in numbers for name in names if name) or any(map(DATE.fullmatch, names)):
        return True
    has_values = bool(numbers) and all(map(MEASURED.fullmatch, numbers))
    return has_values and KNOWN.isdisjoint(map(canonical, names))


def _distinct(names: list[str], where: str) -> list[str]:
    """Return the names of columns, those that are repeated with a number.

    Raises:
        DataError: A field, such as the value, has several columns.
    """
    counts: dict[str, int] = {}
    distinct = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        if counts[name] > 1 and canonical(name) in KNOWN:
            raise DataError(f"{where}: two columns are called {name!r}; rename one")
        distinct.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    if len(set(distinct)) < len(distinct):
        raise DataError(f"{where}: several columns have the same name; rename them")
    return distinct


def sniffed(header: str, rows: Sequence[str]) -> str:
    """Return the delimiter: the one that cuts the header into most cells, and rows into as many.

    Example:
        >>> sniffed("commit;value", ["a1;1,5"]), sniffed("value", ["1"])
        (';', ',')
    """
    best, most = ",", (0, 0)
    for delimiter in DELIMITERS:
        count = header.count(delimiter)
        fitting = sum(row.count(delimiter) == count for row in rows)
        if count and (fitting, count) > most:
            best, most = delimiter, (fitting, count)
    return best
