"""The records of a file that is a JSON array, JSON lines, or one object."""

from __future__ import annotations

import io
from collections.abc import Iterator

from barograph.errors import DataError
from barograph.sources.fields import FieldError
from barograph.sources.formats.base import InputFile
from barograph.sources.formats.json_text import decode_json
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
    """Yield the value of each line that is not blank."""
    for number, line in enumerate(io.BytesIO(content), 1):
        if not line.isspace():
            yield Node(decode_json(line, f"{name} line {number}"), f"line {number}")
