"""Cut a file into records: the entries of JSON, the lines of a text, the rows of a CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from barograph.results.fields import FieldError
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import InputFile, Result
from barograph.sources.formats.content import inner_files
from barograph.sources.formats.json_text import Lines
from barograph.sources.formats.nodes import Node
from barograph.sources.report import Skip

LONGEST = 4_000  # characters of a line of text that may hold a result
LINE_END = re.compile(r"\r\n?|\n")  # other line separators may be in strings
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def has_places(*alternatives: Iterable[str]) -> Callable[[InputFile], bool]:
    """Return a function that recognises JSON by its places, which must have all of some."""
    return lambda file: any(map(file.places.issuperset, alternatives))


def also_in_folder(matches: Callable[[InputFile], bool]) -> Callable[[InputFile], bool]:
    """Return a function that looks at a file, or at the first JSON files of a folder."""
    return lambda file: any(map(matches, inner_files(file, 3) if file.folder else [file]))


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
    data = file.json()
    if isinstance(data, Lines):
        for number, value in zip(data.numbers, data, strict=True):
            if isinstance(value, str):
                raise DataError(f"{file.name} line {number}: not valid JSON: {value!r}")
            yield Node(value, f"line {number}")
        return
    listed = [key for key in keys if isinstance(data, dict) and isinstance(data.get(key), list)]
    if listed:
        yield from Node(data)[listed[0]].entries()
    elif isinstance(data, list):
        yield from Node(data).entries()
    else:
        yield Node(data)


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

    table = read_delimited(replace(file, options=replace(file.options, delimiter=delimiter)))
    yield from table.skips
    for number, cells in zip(table.rows, zip(*table.cells.values(), strict=True), strict=True):
        yield Node(dict(zip(table.cells, cells, strict=True)), f"line {number}")
