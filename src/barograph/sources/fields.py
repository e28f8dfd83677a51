"""Read single fields of a document: identities, texts, times, numbers, labels."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

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
    **dict.fromkeys(("lower", "smaller", "less", "down", "min", "minimize"), -1),
    **dict.fromkeys(("higher", "bigger", "larger", "greater", "more", "up", "max", "maximize"), 1),
    **dict.fromkeys(("unknown", "none", "neither"), 0),
}  # fmt: skip


class FieldError(Exception):
    """A field cannot be used; the caller adds the place and counts it."""

    def __init__(self, field: str, value: object, reason: str) -> None:
        super().__init__(field, value, reason)
        self.field, self.value, self.reason = field, value, reason


def identity_of(fields: Mapping[str, Any], prefix: str = "") -> SeriesId:
    """Read the identity of a series; missing parts are empty, but at least one must be present."""
    parts = [_identity_part(fields.get(name), prefix + name) for name in LABELS]
    if not any(parts):
        raise FieldError(f"{prefix}project", None, "no identity")
    project, variant, task, test, measurement = parts
    args = args_of(fields.get("args"), f"{prefix}args")
    return SeriesId(project, variant, task, test, measurement, args)


def _identity_part(value: object, field: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, (str, int, float)):
        raise FieldError(field, value, "identity is not text")
    return _valid_text(value, field) if isinstance(value, str) else canonical_text(value)


def _valid_text(text: str, field: str) -> str:
    """Return valid text; JSON can contain lone surrogates, which no table can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FieldError(field, text, "identity is not valid text") from error
    return text


def args_of(value: object, field: str = "args") -> tuple[tuple[str, str], ...]:
    """Read the arguments, sorted by name: 16, 16.0 and "16" are equal."""
    if value is not None and not isinstance(value, Mapping):
        raise FieldError(field, value, "args is not a document")
    try:
        return normalize_args(value)
    except DataError as error:
        raise FieldError(field, value, f"args is {error}") from error


def direction_of(value: object) -> int:
    """Read the direction, 0 if it is missing."""
    if value is None:
        return 0
    if isinstance(value, (int, float)) and value in (-1, 0, 1):
        return int(value)
    raise FieldError("direction", value, "direction is not -1, 0 or 1")


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
    if not np.isfinite(number):
        raise FieldError(field, value, "value is not finite")
    return number


def text_of(value: object, field: str) -> str | None:
    """Read a text that may be missing, such as a commit."""
    if value is None or (isinstance(value, str) and value == ""):
        return None
    if not isinstance(value, str):
        raise FieldError(field, value, "not a text")
    return _valid_text(value, field)


def time_of(value: object, field: str) -> int:
    """Read a time as milliseconds since 1970, or `UNKNOWN_TIME` if it is missing.

    Args:
        value: A datetime or an ISO 8601 text, UTC unless it has a zone, or the milliseconds.
        field: The name of the field, for the error.
    """
    if value is None:
        return UNKNOWN_TIME
    moment = value
    if isinstance(value, str):
        with suppress(ValueError):
            moment = datetime.fromisoformat(value)
    if isinstance(moment, datetime):
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (aware - EPOCH) // MILLISECOND
    # BSON's DatetimeMS holds times that Python's datetime cannot hold.
    integer = isinstance(value, int) and not isinstance(value, bool)
    if integer or type(value).__name__ == "DatetimeMS":
        milliseconds = int(value)  # type: ignore[call-overload]
        if TIME_RANGE[0] <= milliseconds <= TIME_RANGE[1]:
            return int(milliseconds)
    raise FieldError(field, value, "not a time")


def verdict_of(label: object, field: str) -> Verdict:
    """Map a triage status to a verdict; a missing status means not triaged."""
    if label is None:
        return Verdict.NOT_TRIAGED
    if not isinstance(label, str) or label not in VERDICTS:
        raise FieldError(field, label, f"unknown label; known: {', '.join(sorted(VERDICTS))}")
    return VERDICTS[label]


def stated_direction(text: str, field: str) -> Direction:
    """Return the direction that a text names.

    Args:
        text: The text, such as "lower", "smaller_is_better" or "-1".
        field: Its key or column; `lower_is_better` and the like may be true or false.

    Raises:
        FieldError: It names no direction.

    Example:
        >>> stated_direction("smaller_is_better", "direction").name
        'LOWER_IS_BETTER'
        >>> stated_direction("0", "lowerIsBetter").name
        'HIGHER_IS_BETTER'
    """
    stated = _direction_of(text, field.rpartition(".")[2])
    if stated is None:
        allowed = "direction is not -1, 0, 1, lower_is_better, higher_is_better or unknown"
        raise FieldError(field, text, allowed)
    return stated


@lru_cache(256)  # most metrics of a file state one of two
def _direction_of(text: str, key: str) -> Direction | None:
    word = text.strip().lower().replace("-", "_").replace(" ", "_") if text[:1] != "-" else text
    if not word:
        return Direction.UNKNOWN
    column = key.lower().replace("_", "")
    if column.endswith("isbetter") and word in ("true", "false", "1", "0", "yes", "no", "t", "f"):
        way = -1 if column.startswith(("lower", "smaller", "less")) else 1
        return Direction(way if word in ("true", "1", "yes", "t") else -way)
    word = word.removesuffix("_is_better").removesuffix("isbetter").removesuffix("_better")
    if word in ("-1", "0", "1", "-1.0", "0.0", "1.0", "+1"):
        return Direction(int(float(word)))
    return Direction(DIRECTIONS[word]) if word in DIRECTIONS else None
