"""Cut a file into records, and walk decoded JSON, YAML or text: each value with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from barograph.results.fields import FieldError, stated_direction
from barograph.results.series import Direction, canonical_text
from barograph.results.texts import CONTROL
from barograph.runtime.errors import DataError
from barograph.sources.formats.base import InputFile, Result
from barograph.sources.formats.cells import number, numeric
from barograph.sources.formats.content import inner_files
from barograph.sources.formats.dates import time_ms
from barograph.sources.formats.json_text import Lines
from barograph.sources.report import Place, Skip

LONGEST = 4_000  # characters of a line of text that may hold a result
LINE_END = re.compile(r"\r\n?|\n")  # other line separators may be in strings
SURROGATE = re.compile("[\ud800-\udfff]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CPU_KEYS = ("brand_raw", "brand", "Value")  # of py-cpuinfo, and of old versions of BenchmarkDotNet
SHOWN_KEY = 60  # characters of a key that messages show


class Node:
    """A value of decoded JSON, or of a line of text, and its place in the file.

    What a method cannot return, because the value is missing or of another type, is a `FieldError`
    that names the place.

    Args:
        value: The value; None if it is missing.
        where: Its place, such as "benchmarks[2].stats"; empty for the whole document. A place that
            ends with a blank, such as "steps.json: ", is a file or a line. Or the node that holds
            the value: then the place is made when an error or a result needs it.
        key: Its key or index in that node.

    Example:
        >>> Node({"stats": {"median": 2}})["stats"]["median"].number()
        2.0
        >>> [(name, node.where) for name, node in Node({"p50": 1}, "metrics").items()]
        [('p50', 'metrics.p50')]
        >>> next(Node([5, 7], Node({}, "entries"), "Suite").entries()).where
        'entries.Suite[0]'
    """

    __slots__ = ("_key", "_parent", "value")

    def __init__(self, value: Any, where: str | Node = "", key: str | int = "") -> None:
        self.value = value
        self._parent, self._key = where, key

    @property
    def where(self) -> str:
        """Its place: that of its parent with `.key`, or `[3]` for an index."""
        if not isinstance(self._parent, str):
            outer, key = self._parent.where, self._key
            if isinstance(key, int):
                self._parent = f"{outer}[{key}]"
            else:
                shown = key if len(key) <= SHOWN_KEY else f"{key[:SHOWN_KEY]}..."
                self._parent = f"{outer}.{shown}" if outer and outer[-1] != " " else outer + shown
        return self._parent

    def __getitem__(self, key: str) -> Node:
        """Return the value of a key of an object."""
        return Node(self.mapping().get(key), self, key)

    def __contains__(self, key: str) -> bool:
        """Return whether an object has a key."""
        return key in self.mapping()

    def get(self, key: str, default: Any) -> Node:
        """Return the value of a key, or the default if it is missing, null or empty."""
        node = self[key]
        node.value = node.value or default
        return node

    def first(self, keys: Iterable[str]) -> Node:
        """Return the value of the first of some keys that is there."""
        nodes = [self[key] for key in keys]
        return next((node for node in nodes if node.value is not None), nodes[0])

    def items(self) -> Iterator[tuple[str, Node]]:
        """Yield the keys of an object as parts of an identity, and their values."""
        for key, value in self.mapping().items():
            node = Node(value, self, str(key))  # YAML has keys that are not text
            yield key if type(key) is str and key.isascii() else Node(key, node.where).label(), node

    def entries(self) -> Iterator[Node]:
        """Yield the entries of an array."""
        for index, value in enumerate(self.array()):
            yield Node(value, self, index)

    def array(self) -> list[Any]:
        """Return an array."""
        if isinstance(self.value, list):
            return self.value
        raise self._error("is not an array")

    def mapping(self) -> dict[str, Any]:
        """Return an object."""
        if isinstance(self.value, dict):
            return self.value
        raise self._error("is not an object")

    def text(self) -> str:
        """Return a text; a lone surrogate, which JSON can hold, is none."""
        if not isinstance(self.value, str):
            raise self._error("is not text")
        if not self.value.isascii() and SURROGATE.search(self.value):
            raise self._error("is not valid text")
        return self.value

    def optional_text(self) -> str:
        """Return a text, empty if it is missing (null)."""
        return "" if self.value is None else self.text()

    def label(self) -> str:
        """Return a text, number or truth value as a part of an identity: 8, 8.0 and "8" are equal.

        Example:
            >>> Node(8.0).label(), Node(True).label()
            ('8', 'true')
        """
        return canonical_text(self.value) if isinstance(self.value, (int, float)) else self.text()

    def optional_label(self) -> str:
        """Return a part of an identity, empty if it is missing (null)."""
        return "" if self.value is None else self.label()

    def arguments(self) -> tuple[tuple[str, str], ...]:
        """Return an object as the arguments of an identity, sorted by name."""
        return tuple(sorted((name, value.label()) for name, value in self.items()))

    def number(self) -> float:
        """Return a finite number."""
        return number(self.value, self.where)

    def numeric(self) -> float:
        """Return a finite number, or the number that a text is."""
        return numeric(self.value, self.where)

    def time(self) -> int:
        """Return a time in milliseconds since 1970; a missing one is `UNKNOWN_TIME`."""
        return time_ms(self.value, self.where)

    def cpu(self) -> str:
        """Return the model of a CPU: a text, or that in an object; empty for anything else.

        Example:
            >>> Node({"brand_raw": "AMD EPYC 7763", "count": 4}).cpu(), Node(8).cpu()
            ('AMD EPYC 7763', '')
        """
        keys = CPU_KEYS if isinstance(self.value, dict) else ()
        name = next((self.value[key] for key in keys if key in self.value), self.value)
        return " ".join(CONTROL.sub(" ", name).split()) if isinstance(name, str) else ""

    def direction(self, keys: Iterable[str]) -> Direction:
        """Return the direction that the first of some keys states; unknown if none is there."""
        stated = self.first(keys)
        if stated.value is None:
            return Direction.UNKNOWN
        return stated_direction(stated.label(), stated.where)

    def skip(self, file: InputFile, reason: str) -> Skip:
        """Return the record of a value that a format leaves out.

        Args:
            file: The file that is read.
            reason: Why: one of a few short texts, as skips are counted by reason.
        """
        return Skip(Place(file.name, 0), self.where, self.value, reason, "points")

    def _error(self, reason: str) -> FieldError:
        where = self.where.removesuffix(": ") or "(file)"
        return FieldError(where, self.value, "is missing" if self.value is None else reason)


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
    document = Node(file.json())
    data = document.value
    if isinstance(data, Lines):
        for line, value in zip(data.numbers, data, strict=True):
            if isinstance(value, str):
                raise DataError(f"{file.name} line {line}: not valid JSON: {value!r}")
            yield Node(value, f"line {line}")
        return
    inner = [document[key] for key in keys] if isinstance(data, dict) else []
    listed = [node for node in (document, *inner) if isinstance(node.value, list)]
    yield from listed[0].entries() if listed else [document]


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
        try:
            yield from [entry] if isinstance(entry, Skip) else read(entry)
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
    from barograph.sources.formats.rows import read_delimited

    table = read_delimited(replace(file, options=replace(file.options, delimiter=delimiter)))
    yield from table.skips
    for line, cells in zip(table.rows, zip(*table.cells.values(), strict=True), strict=True):
        yield Node(dict(zip(table.cells, cells, strict=True)), f"line {line}")
