"""Decode JSON and JSON lines, and name the places of their values."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import msgspec

from barograph.runtime.errors import DataError

CUT_OFF = "Input data was truncated"  # what msgspec says
MEBIBYTE = 1 << 20
DEPTH = 5  # levels of nesting whose keys are places
FEW = 100  # entries of an array that are looked at
KEYS = 10_000  # of an object, and containers of a level


class Lines(list[Any]):
    """The values of JSON lines; a line that is not JSON is its text.

    Attributes:
        numbers: The number of the line of each value; blank lines and empty lists are left out.
    """

    numbers: list[int]


def decode_document(content: bytes, name: str) -> Any:
    r"""Decode JSON, or JSON lines into `Lines`.

    Args:
        content: The text, as UTF-8.
        name: What the error calls it.

    Raises:
        DataError: The content is neither.

    Example:
        >>> decode_document(b'{"a": 1}', "-"), decode_document(b'{"a": 1}\n{"a": 2}', "-")
        ({'a': 1}, [{'a': 1}, {'a': 2}])
    """
    try:
        return decode_json(content, name)
    except DataError:
        first, end, rest = content.lstrip().partition(b"\n")
        if not rest.strip() or isinstance(_line(first), str):
            raise
    values = ((k, _line(line)) for k, line in enumerate(content.split(end), 1) if line.strip())
    kept = [(number, value) for number, value in values if value != []]
    lines = Lines(value for _, value in kept)
    lines.numbers = [number for number, _ in kept]
    return lines


def _line(line: bytes) -> Any:
    """Return the value of a line, or the beginning of its text if it is not JSON."""
    try:
        return decode_json(line, "")
    except DataError:
        return line[:60].decode("utf-8", "replace").strip()


def decode_json(text: str | bytes, name: str) -> Any:
    """Decode JSON; NaN and Infinity, which many tools write, become None.

    Args:
        text: The JSON.
        name: What the error calls it: a file, or a file with a line.

    Raises:
        DataError: The text is not valid JSON, or nested too deeply.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = str(error)
    except RecursionError:
        raise DataError(f"{name}: nested too deeply") from None
    try:
        # Given bytes, `json.loads` would read those of lone surrogates, which are no valid text.
        content = text if isinstance(text, str) else text.decode(json.detect_encoding(text))
        return json.loads(content, parse_constant=lambda _name: None)
    except RecursionError:
        message = "nested too deeply"
    except UnicodeDecodeError as error:
        message = f"not valid {error.encoding.upper()} at byte {error.start}"
    except ValueError:
        if message == CUT_OFF:
            lines = content.count("\n") + 1
            place = f"byte {len(text):,}" + (f" in line {lines:,}" if lines > 1 else "")
            message = f"it ends early, at {place}"
        message = f"not valid JSON: {message}"
    raise DataError(f"{name}: {message}")


def places_of(document: Any) -> frozenset[str]:
    """Return the places of the values near the top of decoded JSON, of `Lines` those of each line.

    A place is the keys from the top, joined by "/", with "*" for an element of an array:
    "/*/metrics" is the key `metrics` of an element of the outermost array. A "/" in a key is
    written "~1". The top itself is "{" or "[" by its type.

    Example:
        >>> sorted(places_of([{"name": "sort", "stats": {"mean": 1}}]))
        ['/*', '/*/name', '/*/stats', '/*/stats/mean', '[']
    """
    tops = document[:FEW] if isinstance(document, Lines) else [document]
    level = [("", value) for value in tops if isinstance(value, (dict, list))]
    found = {"{" if isinstance(value, dict) else "[" for _, value in level}
    for _ in range(DEPTH):
        below: list[tuple[str, Any]] = []
        for place, value in level[:KEYS]:
            if isinstance(value, dict):
                pairs = ((key.replace("/", "~1"), item) for key, item in value.items())
                below += [(f"{place}/{key}", item) for key, item in islice(pairs, KEYS)]
            else:
                below += [(f"{place}/*", item) for item in value[:FEW]]
        found.update(place for place, _ in below)
        level = [(place, value) for place, value in below if isinstance(value, (dict, list))]
    return frozenset(found)
