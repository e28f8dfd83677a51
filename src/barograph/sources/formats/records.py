"""The records of a file that is a JSON array, JSON lines, or one object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from barograph.errors import DataError
from barograph.sources.formats.access import at
from barograph.sources.formats.base import InputFile, decode_json

KEYS = ("results", "records", "runs", "history", "data", "benchmarks")  # that wrap a list


def records(file: InputFile, keys: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    r"""Yield the records of a file, each with its place: "[3]", "line 4", "runs[3]" or "".

    Args:
        file: The file: an array, JSON lines, or an object, which is the only record.
        keys: Keys of an object whose array holds the records.

    Raises:
        DataError: The file is not valid JSON.

    Example:
        >>> list(records(InputFile("-", None, b'{"a": 1}\n{"a": 2}\n')))
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
        data = data[place] if place else [data]
        if not place:
            yield "", data[0]
            return
    for index, record in enumerate(data if isinstance(data, list) else [data]):
        yield at(place, index), record


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


def _lines(text: str, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the value of each line that is not blank."""
    for number, line in enumerate(text.split("\n"), 1):
        if line and not line.isspace():
            yield f"line {number}", decode_json(line, f"{name} line {number}")
