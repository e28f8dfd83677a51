"""Cut a file into records: the entries of JSON, the lines of a text, the rows of a CSV."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from barograph.runtime.errors import DataError
from barograph.sources.fields import FieldError
from barograph.sources.formats.base import InputFile, Result
from barograph.sources.formats.json_text import decode_json
from barograph.sources.formats.nodes import Node
from barograph.sources.report import Skip

KEYS = ("results", "records", "runs", "history", "data", "benchmarks")  # that wrap a list
LONGEST = 4_000  # characters of a line of text that may hold a result
LINE_END = re.compile(r"\r\n?|\n")  # other line separators may be in the strings of JSON lines
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def records(file: InputFile, keys: tuple[str, ...] = ()) -> Iterator[Node]:
    r"""Yield the records of a file, each with its place: "[3]", "line 4", "runs[3]" or "".

    Args:
        file: The file: an array, JSON lines, or an object, which is the only record.
        keys: Keys of an object whose array holds the records.

    Raises:
        DataError: The file is not valid JSON.

    Example:
        >>> nodes = records(InputFile("-", None, b'{"a": 1}\n{"a": 2}\n'))
        >>> [(record.where, record.value) for record in nodes]
        [('line 1', {'a': 1}), ('line 2', {'a': 2})]
    """
    content = file.utf8()
    if _is_lines(content, file.name):
        yield from _lines(content, file.name)
        return
    data = Node(file.json_parts())
    if isinstance(data.value, dict):
        place = next((key for key in keys if _is_array(data[key])), None)
        if place is None:
            yield Node(file.json())
            return
        data = data[place]
    yield from (data if _is_array(data) else Node([data.value])).entries()


def each(
    file: InputFile, entries: Iterable[Node | Skip], read: Callable[[Node], Iterator[Result]]
) -> Iterator[Result | Skip]:
    """Read entries one at a time; an entry with a wrong or missing field is skipped.

    Args:
        file: The file, for the skipped entries.
        entries: The entries; those that cannot be read at all are skips already.
        read: Yields the results of an entry.
    """
    for entry in entries:
        if isinstance(entry, Skip):
            yield entry
            continue
        try:
            yield from read(entry)
        except FieldError as error:
            yield Node(error.value, error.field).skip(file, error.reason)


def lines_of(file: InputFile, longest: int = LONGEST) -> Iterator[Node]:
    """Yield each line, without colours; longer lines are left out."""
    for index, line in enumerate(LINE_END.split(file.text()), 1):
        if len(line) <= longest:
            yield Node(COLOUR.sub("", line) if "\x1b" in line else line, f"line {index}")


def csv_rows(file: InputFile, delimiter: str = ",") -> Iterator[Node | Skip]:
    """Yield each row of a CSV file as an object of its cells by column.

    Raises:
        DataError: The file is not valid.
    """
    from barograph.sources.formats.delimited import read_delimited

    for chunk in read_delimited(replace(file, options=replace(file.options, delimiter=delimiter))):
        yield from chunk.skips
        rows = zip(*chunk.cells.values(), strict=True)
        for number, cells in zip(chunk.rows, rows, strict=True):
            row = dict(zip(chunk.cells, cells, strict=True))
            yield Node(row, f"line {number + chunk.lines}")


def _is_array(node: Node) -> bool:
    try:
        node.array()
    except FieldError:
        return False
    return True


def _is_lines(content: bytes, name: str) -> bool:
    """Whether the first line is a whole JSON value and others follow."""
    start = len(content) - len(content.lstrip())
    end = content.find(b"\n", start)
    if end < 0 or content[start : start + 1] not in (b"{", b"[") or not content[end:].strip():
        return False
    try:
        decode_json(content[start:end], name)
    except DataError:
        return False
    return True


def _lines(content: bytes, name: str) -> Iterator[Node]:
    """Yield the value of each line that is neither blank nor an empty list."""
    for number, line in enumerate(io.BytesIO(content), 1):
        if not line.isspace() and (value := decode_json(line, f"{name} line {number}")) != []:
            yield Node(value, f"line {number}")
