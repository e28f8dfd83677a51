"""The records of a file that is a JSON array, JSON lines, or one object."""

from __future__ import annotations

from collections.abc import Iterator

from barograph.errors import DataError
from barograph.sources.formats.base import InputFile, decode_json
from barograph.sources.formats.nodes import Node

KEYS = ("results", "records", "runs", "history", "data", "benchmarks")  # that wrap a list


def records(file: InputFile, keys: tuple[str, ...] = ()) -> Iterator[Node]:
    r"""Yield the records of a file, each with its place: "[3]", "line 4", "runs[3]" or "".

    Args:
        file: The file: an array, JSON lines, or an object, which is the only record.
        keys: Keys of an object whose array holds the records.

    Raises:
        DataError: The file is not valid JSON.

    Example:
        >>> found = records(InputFile("-", None, b'{"a": 1}\n{"a": 2}\n'))
        >>> [(record.where, record.value) for record in found]
        [('line 1', {'a': 1}), ('line 2', {'a': 2})]
    """
    text = file.text()
    if _is_lines(text, file.name):
        yield from _lines(text, file.name)
        return
    data = decode_json(text, file.name)
    place = ""
    if isinstance(data, dict):
        place = next((key for key in keys if isinstance(data.get(key), list)), "")
        if not place:
            yield Node(data)
            return
        data = data[place]
    yield from Node(data if isinstance(data, list) else [data], place).entries()


def _is_lines(text: str, name: str) -> bool:
    """Whether the first line is a whole JSON value and others follow."""
    start = len(text) - len(text.lstrip())
    end = text.find("\n", start)
    if end < 0 or not text[start:].startswith(("{", "[")) or not text[end:].strip():
        return False
    try:
        decode_json(text[start:end], name)
    except DataError:
        return False
    return True


def _lines(text: str, name: str) -> Iterator[Node]:
    """Yield the value of each line that is not blank."""
    for number, line in enumerate(text.split("\n"), 1):
        if line and not line.isspace():
            yield Node(decode_json(line, f"{name} line {number}"), f"line {number}")
