"""JSON as a table: an object, an array of objects, or an object on each line; keys are columns.

pyarrow's own reader infers the type of a column from the first rows and fails at the first row that
differs, without naming it. Here each cell is what a CSV would contain, and invalid rows are named.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from barograph.errors import DataError

BATCH = 1 << 16
WHOLE = (".json", ".json.gz")
LINES = (".ndjson", ".ndjson.gz", ".jsonl", ".jsonl.gz")


class Malformed(NamedTuple):
    """A row that cannot be read: its number, counted from 1, and the reason."""

    number: int
    field: str
    value: str | None
    reason: str


class Raw(NamedTuple):
    """A batch as it is in the file: its well-formed and its malformed rows."""

    table: pa.RecordBatch
    malformed: list[Malformed]


def opened(path: Path) -> gzip.GzipFile | BufferedReader:
    """Open a file; decompress it if its name ends with .gz."""
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


class Broken(NamedTuple):
    """A line that is not JSON."""

    text: str


def read_objects(path: Path) -> tuple[list[str], Iterator[Raw]]:
    """Return all keys, and the objects in batches; lines are read twice and never kept."""
    if path.name.endswith(LINES):
        names = _names(_lines(path))
        return names, _batches(_lines(path), names)
    rows = _whole(path)
    names = _names(rows)
    return names, _batches(rows, names)


def _whole(path: Path) -> list[Any]:
    """Return the rows of a file: an object, an array of objects, or an object with `points`."""
    with _text(path) as file:
        try:
            found = json.load(file)
        except (ValueError, RecursionError) as error:
            hint = "one object on each line is named .ndjson"
            raise DataError(f"{path}: not readable as JSON: {error}; {hint}") from None
    if isinstance(found, dict) and "points" in found:
        others = sorted(found.keys() - {"points"})
        if others:
            raise DataError(f"{path}: no other key is allowed next to points, got {others}")
        if not isinstance(found["points"], list):
            raise DataError(f"{path}: points is no array")
        found = found["points"]
    if not isinstance(found, (dict, list)):
        raise DataError(f"{path}: neither an object nor an array of them")
    return found if isinstance(found, list) else [found]


def _lines(path: Path) -> Iterator[Any]:
    """Yield the value of each line; empty lines are ignored."""
    with _text(path) as file:
        for line in file:
            if text := line.strip():
                try:
                    yield json.loads(text)
                except (ValueError, RecursionError):
                    yield Broken(text)


def _text(path: Path) -> io.TextIOWrapper:
    """Decode UTF-8; U+FFFD replaces invalid bytes, as in a CSV."""
    return io.TextIOWrapper(opened(path), "utf-8-sig", "replace", newline="\n")


def _names(rows: Iterable[Any]) -> list[str]:
    """Return all keys in the order of their first occurrence."""
    names: dict[str, None] = {}
    for row in rows:
        if isinstance(row, dict):
            names.update(dict.fromkeys(row))
    return [*names]


def _batches(rows: Iterable[Any], names: list[str]) -> Iterator[Raw]:
    waiting, count = iter(rows), 0
    while batch := list(islice(waiting, BATCH)):
        bad = {number: fault for number, row in enumerate(batch) if (fault := _fault(row))}
        sound = [row for number, row in enumerate(batch) if number not in bad]
        columns = [_column([row.get(name) for row in sound]) for name in names]
        malformed = [Malformed(count + number + 1, *fault) for number, fault in bad.items()]
        yield Raw(pa.RecordBatch.from_arrays(columns, names), malformed)
        count += len(batch)


def _fault(row: Any) -> tuple[str, str, str] | None:
    """Return the field, the value and the reason why a row is invalid."""
    if not isinstance(row, dict):
        text = row.text if isinstance(row, Broken) else json.dumps(row)
        return "(whole row)", text, "not a JSON object"
    for name, value in row.items():
        if isinstance(value, (bool, list, dict)) and name != "args":
            return name, json.dumps(value), "neither a text nor a number"
    return None


def _column(values: list[Any]) -> pa.Array:
    """Keep integers, so that milliseconds are not read as a date; convert other values to text."""
    if set(map(type, values)) <= {int, type(None)}:
        with suppress(OverflowError):
            return pa.array(values, pa.int64())
    return pa.array([_cell(value) for value in values], pa.string())


def _cell(value: Any) -> str | None:
    """Return the text that a CSV would contain."""
    if value is None or isinstance(value, float):
        return None if value is None else repr(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if text.isascii():
        return text
    # JSON can name one half of a pair of surrogates, which is no text.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
