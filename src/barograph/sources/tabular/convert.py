"""Convert a column of any type to integers, numbers, times or texts.

A column that is sound is cast as a whole. One that is not is read value by value, and each value
that cannot be used is named with the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from barograph.series import UNKNOWN_TIME, Direction
from barograph.sources.fields import (
    TIME_RANGE,
    FieldError,
    order_of,
    text_of,
    time_of,
    value_of,
)

Faults = dict[int, FieldError]
Converter = Callable[[pa.Array, str], tuple[pa.Array, Faults]]
SMALLEST = -(2**63)
REPLACED = "\ufffd"  # what the reader puts in place of invalid UTF-8
DIRECTIONS = {direction.name.lower(): int(direction) for direction in Direction}
MILLISECONDS = re.compile(r"-?\d{11,}")  # fewer digits are a date, such as 20200131
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)


def integers(array: pa.Array, field: str) -> tuple[pa.Array, Faults]:
    """Convert to 64-bit integers; empty cells become null."""
    return _converted(array, field, pa.int64(), _fast_integers, _integer)


def directions(array: pa.Array, field: str) -> tuple[pa.Array, Faults]:
    """Convert integers and the names of directions; empty cells become null."""
    return _converted(array, field, pa.int64(), _fast_integers, _direction)


def numbers(array: pa.Array, field: str) -> tuple[pa.Array, Faults]:
    """Convert to finite numbers; an empty cell is an error."""
    return _converted(array, field, pa.float64(), _fast_numbers, _number)


def times(array: pa.Array, field: str) -> tuple[pa.Array, Faults]:
    """Convert timestamps, ISO 8601 or milliseconds to milliseconds since 1970; empty is null."""
    return _converted(array, field, pa.int64(), _fast_times, _time)


def texts(array: pa.Array, field: str) -> tuple[pa.Array, Faults]:
    """Convert to text; empty cells become null."""
    return _converted(array, field, pa.string(), _fast_texts, _text)


def _converted(
    array: pa.Array,
    field: str,
    kind: pa.DataType,
    fast: Callable[[pa.Array], pa.Array | None],
    slow: Callable[[object, str], object],
) -> tuple[pa.Array, Faults]:
    try:
        found = fast(_plain(array))
    except pa.ArrowException:
        found = None
    if found is not None:
        return found, {}
    values: list[object] = []
    faults: Faults = {}
    for row, value in enumerate(array.to_pylist()):
        try:
            values.append(slow(_python_value(value, field), field))
        except FieldError as fault:
            faults[row] = fault
            values.append(None)
    return pa.array(values, kind), faults


def _plain(array: pa.Array) -> pa.Array:
    """Strip text and replace empty text by null; return other types unchanged."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.cast(kind.value_type)
        kind = array.type
    if not _is_text(kind):
        return array
    text = pc.utf8_trim_whitespace(array.cast(pa.string()))
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    large = types.is_large_string(kind) or types.is_large_binary(kind)
    return bool(large or types.is_string(kind) or types.is_binary(kind))


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _python_value(value: Any, field: str) -> Any:
    """Return one value as Python has it: stripped text, None if empty."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            raise FieldError(field, value, "not valid text") from None
    if isinstance(value, str):
        value = value.strip() or None
    return value


def _fast_integers(array: pa.Array) -> pa.Array | None:
    if not (_is_number(array.type) or _is_text(array.type) or pa.types.is_null(array.type)):
        return None
    found = array.cast(pa.int64())
    return None if pc.min(found).as_py() == SMALLEST else found


def _integer(value: object, field: str) -> int | None:
    if isinstance(value, str):
        if re.fullmatch(r"[+-]?\d+", value, re.ASCII):
            value = int(value) if len(value) < 30 else math.inf
        elif NUMBER.fullmatch(value):
            value = float(value)
    return order_of(value, field)


def _direction(value: object, field: str) -> int | None:
    if isinstance(value, str) and value in DIRECTIONS:
        return DIRECTIONS[value]
    try:
        return _integer(value, field)
    except FieldError:
        reason = f"direction is not -1, 0 or 1, nor one of {', '.join(DIRECTIONS)}"
        raise FieldError(field, value, reason) from None


def _fast_numbers(array: pa.Array) -> pa.Array | None:
    if array.null_count or not (_is_number(array.type) or _is_text(array.type)):
        return None
    found = array.cast(pa.float64(), safe=False)
    return found if pc.all(pc.is_finite(found)).as_py() in (True, None) else None


def _number(value: object, field: str) -> float:
    if isinstance(value, str) and NUMBER.fullmatch(value):
        value = float(value)
    return value_of(value, field)


def _fast_times(array: pa.Array) -> pa.Array | None:
    kind = array.type
    if pa.types.is_date(kind) or _is_text(kind):
        array = array.cast(pa.timestamp("us", tz="UTC" if _is_text(kind) else None))
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("ms", tz=array.type.tz), safe=False).cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_null(kind)):
        return None
    found = array.cast(pa.int64())
    span = pc.min_max(found).as_py()
    low, high = span["min"], span["max"]
    sound = low is None or (low >= TIME_RANGE[0] and high <= TIME_RANGE[1])
    return found if sound else None


def _time(value: object, field: str) -> int | None:
    if isinstance(value, str) and MILLISECONDS.fullmatch(value):
        value = int(value) if len(value) < 30 else math.inf
    found = time_of(value, field)
    return None if found == UNKNOWN_TIME else found


def _fast_texts(array: pa.Array) -> pa.Array | None:
    kind = array.type
    if not (_is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        return None
    found = array.cast(pa.string())
    return None if pc.any(pc.match_substring(found, REPLACED)).as_py() else found


def _text(value: object, field: str) -> str | None:
    if isinstance(value, str) and REPLACED in value:
        raise FieldError(field, value, "not valid text")
    return text_of(value, field)
