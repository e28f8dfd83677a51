"""The rows of CSV, TSV and the like: encoding, delimiter, header, decimal sign."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from barograph.runtime.errors import DataError
from barograph.sources.formats.base import CHUNK, UTF_16, Chunk, InputFile, check_keys
from barograph.sources.formats.dates import DATE
from barograph.sources.formats.numbers import NUMBER
from barograph.sources.formats.roles import KNOWN, canonical
from barograph.sources.formats.wide import WIDE, WideCells
from barograph.sources.report import Place, Skip

DELIMITERS = (",", ";", "\t", "|")
COMMENT = "#"
LINE_END = re.compile(r"\r\n?|\n")
PART = 1 << 22  # characters of a text without quotes that are cut at once
Cut = tuple[int, Mapping[str, Sequence[str]]]  # the number of rows, and the cells of each column
MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}")  # of UTF-8
# A measured value; columns may be called 0.99 or 50, as quantiles and numbers of threads are.
MEASURED = re.compile(r"[+-]?(?:[1-9]\d*[.,]\d+|0?[.,]\d{5,})(?:[eE][+-]?\d+)?")
WIDTH = "not as many cells as columns"


class TextLayout(NamedTuple):
    """How a text is a table.

    Attributes:
        delimiter: The character between cells.
        names: The names of the columns.
        skipped: The number of lines before the first row.
        header: The line with the names; empty without one.
    """

    delimiter: str
    names: list[str]
    skipped: int
    header: str = ""


def decoded(content: bytes) -> io.TextIOWrapper:
    """Return the text: UTF-8, UTF-16 with its mark, or else Windows-1252, as Excel writes it.

    U+FFFD replaces other bytes, also those that are damaged in a text of UTF-8.

    Example:
        >>> decoded("a,b".encode("utf-16")).read(), decoded("Durée".encode("cp1252")).read()
        ('a,b', 'Durée')
    """
    encoding = "utf-16" if content[:2] in UTF_16 else "utf-8-sig"
    if encoding == "utf-8-sig" and not content.isascii():
        try:
            content.decode()
        except UnicodeDecodeError:
            encoding = encoding if MULTIBYTE.search(content) else "cp1252"
    return io.TextIOWrapper(io.BytesIO(content), encoding, "replace", newline="")


def read_delimited(file: InputFile) -> Iterator[Chunk]:
    """Yield the rows of a file in chunks.

    Raises:
        DataError: There is no header, or the file is damaged.
    """
    content = file.content or b""
    layout = layout_of(file)
    check_keys(file, len(layout.names))
    stream = decoded(content)
    for _ in range(layout.skipped):
        stream.readline()
    start = 0
    cut_part = wide_cells if len(layout.names) >= WIDE else _columns
    quote = file.options.quote
    has_quotes = content[:2] in UTF_16 or quote.encode() in content
    for part in [stream] if has_quotes else parts_of(stream):
        cut = cut_part(part, layout) if isinstance(part, str) else None
        if cut is not None:
            count, cells = cut
            rows = range(start, start + count)
            yield Chunk(cells, rows, layout.skipped + 1, delimiter=layout.delimiter)
            start += count
            continue
        lines = io.StringIO(part, newline="") if isinstance(part, str) else part
        reader = csv.reader(
            lines,
            delimiter=layout.delimiter,
            quotechar=quote,
            skipinitialspace=True,
            strict=True,
        )
        before = start
        while (chunk := _next(file, reader, layout, start)) is not None:
            yield chunk
            start = before + reader.line_num


def parts_of(stream: TextIO) -> Iterator[str]:
    """Yield whole lines of a text, many at once."""
    while text := stream.read(PART):
        yield text + stream.readline()


def _plain(text: str, layout: TextLayout) -> str | None:
    """Return whole lines without quotes; None if they need the care of the csv module."""
    delimiter, width = layout.delimiter, len(layout.names)
    text = text.replace("\r\n", "\n")
    text = text if text.endswith("\n") else f"{text}\n"
    has_header = bool(layout.header) and f"{layout.header}\n" in text
    has_space = " " in text and (text[0] == " " or f"{delimiter} " in text or "\n " in text)
    has_blank = width == 1 and (text[0] == "\n" or "\n\n" in text or COMMENT in text)
    return None if not width or has_space or has_blank or has_header or "\r" in text else text


def wide_cells(part: str, layout: TextLayout) -> tuple[int, WideCells] | None:
    """Return the number of lines without quotes, and their cells.

    Returns None if they need the care of the csv module.
    """
    text = _plain(part, layout)
    if text is None:
        return None
    lines = text[:-1].split("\n")
    if {line.count(layout.delimiter) for line in lines} != {len(layout.names) - 1}:
        return None
    if max(map(len, lines)) > csv.field_size_limit():
        return None  # there may be a cell that is too long
    return len(lines), WideCells(lines, layout.delimiter, layout.names)


def _columns(part: str, layout: TextLayout) -> Cut | None:
    """Cut a text without quotes into columns; None if it needs the care of the csv module.

    Cutting the whole text at once takes a quarter of the time of reading row by row.
    """
    text = _plain(part, layout)
    if text is None:
        return None
    delimiter, width = layout.delimiter, len(layout.names)
    count = text.count("\n")
    text = text.replace("\n", f"{delimiter}\n{delimiter}")  # each line end becomes a cell
    step = csv.field_size_limit() // 2
    if any(text.find(delimiter, k, k + step) < 0 for k in range(0, len(text) - step, step)):
        return None  # there may be a cell that is too long
    cells = text.split(delimiter)
    ends = cells[width :: width + 1]
    if len(cells) != count * (width + 1) + 1 or set(ends) != {"\n"}:
        return None
    return count, {name: cells[k : -1 : width + 1] for k, name in enumerate(layout.names)}


def _next(file: InputFile, reader: Any, layout: TextLayout, start: int) -> Chunk | None:
    """Return the next rows, which begin after `start` lines; None at the end."""
    first = reader.line_num
    rows, broken = _records(file, reader, layout, start)
    if not rows:
        return None
    width = len(layout.names)
    numbers: range | list[int] = range(start, start + len(rows))
    if reader.line_num - first != len(rows):
        numbers = _first_lines(rows, start)
    if layout.header:  # files that were joined repeat it
        title = layout.names[0]
        rows = [[] if row and row[0] == title and _is_header(row, layout) else row for row in rows]
    if width == 1:
        rows = [[] if row and row[0].startswith(COMMENT) else row for row in rows]
    skips = [skip for _, skip in broken]
    if set(map(len, rows)) - {width}:
        places = {place for place, _ in broken}
        for k, row in enumerate(rows):
            if row and len(row) != width and k not in places and not row[0].startswith(COMMENT):
                place = Place(file.name, layout.skipped + numbers[k] + 1, "line")
                skips.append(Skip(place, "(whole row)", layout.delimiter.join(row), WIDTH))
        kept = [(numbers[k], row) for k, row in enumerate(rows) if len(row) == width]
        numbers, rows = [k for k, _ in kept], [row for _, row in kept]
    columns: Sequence[Sequence[str]] = list(zip(*rows, strict=True)) or [()] * width
    cells = dict(zip(layout.names, columns, strict=True))
    return Chunk(cells, numbers, layout.skipped + 1, skips, layout.delimiter)


def _records(
    file: InputFile, reader: Any, layout: TextLayout, start: int
) -> tuple[list[list[str]], list[tuple[int, Skip]]]:
    """Return the next rows, and those that are not CSV by their positions, where rows are empty.

    Raises:
        DataError: A quoted cell has no end, or a cell is too long.
    """
    rows: list[list[str]] = []
    broken: list[tuple[int, Skip]] = []
    first = reader.line_num
    while len(rows) < CHUNK:
        try:
            rows.extend(itertools.islice(reader, CHUNK - len(rows)))
            break
        except csv.Error as error:
            if "unexpected end" in str(error) or "field larger" in str(error):
                line = layout.skipped + start + len(rows) + 1
                reason = "a quoted cell has no end" if "end" in str(error) else "a cell is too long"
                raise DataError(f"{file.name}: line {line} or before: {reason}") from None
            place = Place(file.name, layout.skipped + start + reader.line_num - first, "line")
            skip = Skip(place, "(whole row)", "", f"not readable as CSV: {error}")
            broken.append((len(rows), skip))
            rows.append([])
    return rows, broken


def _is_header(row: Sequence[str], layout: TextLayout) -> bool:
    *names, last = map(str.strip, row)
    return names == layout.names[:-1] and last in ("", layout.names[-1])


def _first_lines(rows: Sequence[Sequence[str]], start: int) -> list[int]:
    """Return the number of the first line of each row, where quoted cells have several lines."""
    spans = (1 + sum(len(LINE_END.findall(cell)) for cell in row) for row in rows)
    return list(itertools.accumulate(spans, initial=start))[:-1]


def layout_of(file: InputFile) -> TextLayout:
    """Find the header and the delimiter.

    Raises:
        DataError: There is no header, or two columns have the same name.
    """
    stream = decoded(file.content or b"")
    skipped, header = 0, ""
    for line in stream:
        if line.strip() and not line.lstrip().startswith(COMMENT):
            header = line
            break
        skipped += 1
        if skipped > 1000:
            break
    if not header:
        raise DataError(f"{file.name}: no header; the first line must name the columns")
    rows = list(itertools.islice(stream, 20))
    delimiter = file.options.delimiter or sniffed(header, rows)
    try:
        cells = next(csv.reader([header], delimiter=delimiter, quotechar=file.options.quote), [""])
    except csv.Error as error:
        raise DataError(f"{file.name}: line {skipped + 1}: {error}") from None
    names = [name.strip() for name in cells]
    numbers = [name for name in names if NUMBER.fullmatch(name.replace(",", "."))]
    if len(names) == len(numbers) == 1:  # plain numbers, one in each line
        return TextLayout(delimiter, ["value"], skipped)
    if _is_data(names, numbers):
        raise DataError(
            f"{file.name}: line {skipped + 1}: no header; the first line must name the columns"
        )
    while names and not names[-1]:  # lines that end with a delimiter
        names = [*names[:-1], f"(column {len(names)})"] if len(names) > 1 else names[:-1]
    return TextLayout(delimiter, _distinct(names, file.name), skipped + 1, header.strip("\r\n"))


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
