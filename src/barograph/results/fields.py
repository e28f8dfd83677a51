"""The one check of a result: what its fields may be, whichever file, database or frame has them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from barograph.results.series import (
    LABELS,
    LARGEST_ORDER,
    ORDER_HINT,
    TIME_RANGE,
    UNKNOWN_TIME,
    Direction,
    SeriesId,
    Verdict,
    canonical_text,
    normalize_args,
)
from barograph.runtime.errors import DataError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)

# The verdicts by their own names, by the words that people read, then by the names in older data:
# people acknowledged change points that were real and hid those that were noise (Daly et al. 2020,
# 3.1).
VERDICTS = {name: verdict for verdict in Verdict for name in (verdict.value, verdict.word)} | {
    "untriaged": Verdict.NOT_TRIAGED,
    "acknowledged": Verdict.TRUE_POSITIVE,
    "hidden": Verdict.FALSE_POSITIVE,
}
# Words for a direction, without `_is_better`.
DIRECTIONS = {
    **dict.fromkeys(("-1", "-1.0", "lower", "smaller", "less", "down", "min", "minimize"), -1),
    **dict.fromkeys(("1", "1.0", "+1", "higher", "bigger", "larger", "greater", "more"), 1),
    **dict.fromkeys(("up", "max", "maximize"), 1),
    **dict.fromkeys(("", "0", "0.0", "unknown", "none", "neither"), 0),
}
FLAGS = {
    **dict.fromkeys(("true", "1", "yes", "t"), 1),
    **dict.fromkeys(("false", "0", "no", "f"), -1),
}


class FieldError(Exception):
    """A field cannot be used; the caller adds the place and counts it."""

    def __init__(self, field: str, value: object, reason: str) -> None:
        super().__init__(field, value, reason)
        self.field, self.value, self.reason = field, value, reason


def identity_of(fields: Mapping[str, Any], prefix: str = "") -> SeriesId:
    """Read the identity of a series; missing parts are empty, but at least one must be present."""
    parts = {name: text_of(fields.get(name), prefix + name) for name in LABELS}
    if not any(parts.values()):
        raise FieldError(f"{prefix}project", None, "no identity")
    return SeriesId(**parts, args=args_of(fields.get("args"), f"{prefix}args"))


def args_of(value: object, field: str = "args") -> tuple[tuple[str, str], ...]:
    """Read an object or its JSON as arguments, sorted by name: 16, 16.0 and "16" are equal."""
    try:
        decoded = json.loads(value or "{}") if isinstance(value, str) else value
    except (ValueError, RecursionError):
        decoded = value
    if decoded is not None and not isinstance(decoded, Mapping):
        raise FieldError(field, value, "args is not a JSON object")
    try:
        return normalize_args(decoded)
    except DataError as error:
        raise FieldError(field, value, f"args is {error}") from error


def text_of(value: object, field: str) -> str:
    """Read a label, a commit or another text; a number is text, too, and a missing one empty.

    JSON can contain lone surrogates, which no table can hold.
    """
    if value is None:
        return ""
    if not isinstance(value, (str, int, float)):
        raise FieldError(field, value, "not a text")
    text = canonical_text(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FieldError(field, value, "not valid text") from error
    return text


def order_of(value: object, field: str) -> int | None:
    """Read an order: a whole number of any numeric type, or None if it is missing."""
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise FieldError(field, value, "order is not a whole number")
    if abs(value) > LARGEST_ORDER:
        raise FieldError(field, value, f"order is too large; {ORDER_HINT}")
    return int(value)


def value_of(value: object, field: str) -> float:
    """Read a measured value, a finite number."""
    if value is None:
        raise FieldError(field, value, "value is missing")
    to_decimal = getattr(value, "to_decimal", None)  # BSON's Decimal128
    plain_number = value if to_decimal is None else to_decimal()
    if isinstance(value, bool) or not isinstance(plain_number, (int, float, Decimal)):
        raise FieldError(field, value, "value is not a number")
    try:
        number = float(plain_number)
    except (OverflowError, ValueError) as error:  # a decimal's signaling NaN is the latter
        raise FieldError(field, value, "value is not finite") from error
    if not math.isfinite(number):
        raise FieldError(field, value, "value is not finite")
    return number


def time_of(value: object, field: str) -> int:
    """Read a time as milliseconds since 1970, or `UNKNOWN_TIME` if it is missing.

    Args:
        value: A datetime, a date or an ISO 8601 text, UTC unless it has a zone, or the
            milliseconds.
        field: The name of the field, for the error.
    """
    if value is None:
        return UNKNOWN_TIME
    moment = value
    if isinstance(value, date) and not isinstance(value, datetime):
        value = value.isoformat()
    if isinstance(value, str):
        with suppress(ValueError):
            moment = datetime.fromisoformat(value)
    if isinstance(moment, datetime):
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (aware - EPOCH) // MILLISECOND
    # BSON's DatetimeMS holds times that Python's datetime cannot hold.
    is_whole = isinstance(value, (int, float)) and not isinstance(value, bool) and value % 1 == 0
    if is_whole or type(value).__name__ == "DatetimeMS":
        milliseconds = int(value)  # type: ignore[call-overload]
        if TIME_RANGE[0] <= milliseconds <= TIME_RANGE[1]:
            return int(milliseconds)
    raise FieldError(field, value, "not a date, or a number of milliseconds since 1970")


def verdict_of(label: object, field: str) -> Verdict:
    """Map a triage status to a verdict; a missing status means not triaged."""
    if label is None:
        return Verdict.NOT_TRIAGED
    if not isinstance(label, str) or label not in VERDICTS:
        raise FieldError(field, label, f"unknown label; known: {', '.join(sorted(VERDICTS))}")
    return VERDICTS[label]


def stated_direction(value: object, field: str = "direction") -> Direction:
    """Return the direction that a text or a number names, unknown if it is missing.

    Args:
        value: Such as "lower", "smaller_is_better" or -1.
        field: Its key or column; `lower_is_better` and the like may be true or false.

    Raises:
        FieldError: It names no direction.

    Example:
        >>> stated_direction("smaller_is_better", "direction").name
        'LOWER_IS_BETTER'
        >>> stated_direction("0", "lowerIsBetter").name
        'HIGHER_IS_BETTER'
    """
    stated = _direction_of("" if value is None else str(value), field.rpartition(".")[2])
    if stated is None:
        allowed = "direction is not -1, 0, 1, lower_is_better, higher_is_better or unknown"
        raise FieldError(field, value, allowed)
    return stated


@lru_cache(256)  # most metrics of a file state one of two
def _direction_of(text: str, key: str) -> Direction | None:
    word = text.strip().lower().replace(" ", "_")
    word = word if word[:1] == "-" else word.replace("-", "_")
    column = key.lower().replace("_", "")
    if column.endswith("isbetter") and word in FLAGS:
        way = -1 if column.startswith(("lower", "smaller", "less")) else 1
        return Direction(way * FLAGS[word])
    word = word.removesuffix("_is_better").removesuffix("isbetter").removesuffix("_better")
    return Direction(DIRECTIONS[word]) if word in DIRECTIONS else None
