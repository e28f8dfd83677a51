"""Typed access to decoded JSON of other tools: a value of the right type, or a `FieldError`.

Every function takes a value and the place where it was found, such as "entries.Suite[3].date",
so that a message can name it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

from barograph.series import UNKNOWN_TIME, Direction, canonical_text
from barograph.sources.base import Place, Skip
from barograph.sources.fields import EPOCH, MILLISECOND, TIME_RANGE, FieldError
from barograph.sources.formats.base import InputFile

SHOWN_KEY = 60  # characters of a key that messages show
# The unit of a Unix time follows from its size: smaller numbers than the first are seconds, then
# come milliseconds, microseconds and nanoseconds. All times from 1973 to 5138 are recognised.
SECONDS, MILLISECONDS, MICROSECONDS = 100_000_000_000, 100_000_000_000_000, 100_000_000_000_000_000
DIRECTIONS = {
    **dict.fromkeys(("lower", "smaller", "less", "down", "min", "minimize"), -1),
    **dict.fromkeys(("higher", "bigger", "larger", "greater", "more", "up", "max", "maximize"), 1),
    **dict.fromkeys(("unknown", "none", "neither"), 0),
}  # fmt: skip
DATE = re.compile(
    r"(\d{4})[-./](\d\d?)[-./](\d\d?)"
    r"(?:[T ]\s*(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)?"
)


def at(where: str, key: str | int) -> str:
    """Return the place of an entry: `where.key`, or `where[3]` for an index.

    A place may begin with a file, "steps.json: ", which ends with a blank.

    Example:
        >>> at(at("entries", "Suite"), 3)
        'entries.Suite[3]'
    """
    if isinstance(key, int):
        return f"{where}[{key}]"
    shown = key if len(key) <= SHOWN_KEY else f"{key[:SHOWN_KEY]}..."
    return f"{where}.{shown}" if where and where[-1] != " " else f"{where}{shown}"


def mapping(value: object, where: str) -> dict[str, Any]:
    """Return a value that must be a JSON object.

    Raises:
        FieldError: It is not an object.
    """
    if isinstance(value, dict):
        return value
    raise FieldError(where, value, "is missing" if value is None else "is not an object")


def array(value: object, where: str) -> list[Any]:
    """Return a value that must be a JSON array.

    Raises:
        FieldError: It is not an array.
    """
    if isinstance(value, list):
        return value
    raise FieldError(where, value, "is missing" if value is None else "is not an array")


def number(value: object, where: str) -> float:
    """Return a value that must be a finite number; text and truth values are not numbers.

    Raises:
        FieldError: It is not a finite number.

    Example:
        >>> number(3, "mean")
        3.0
    """
    if type(value) is float and math.isfinite(value):  # the common case
        return value
    if type(value) is float or type(value) is int:
        try:
            converted = float(value)
        except OverflowError:
            converted = math.inf
        if math.isfinite(converted):
            return converted
        raise FieldError(where, value, "is not finite")
    raise FieldError(where, value, "is missing" if value is None else "is not a number")


def numeric(value: object, where: str) -> float:
    """Return a value that must be a finite number or the text of one, such as "31" or "1,024.5".

    Raises:
        FieldError: It is neither.

    Example:
        >>> numeric("1,024.5", "value")
        1024.5
    """
    if type(value) is float and math.isfinite(value):  # the common case
        return value
    if not isinstance(value, str):
        return number(value, where)
    try:
        if "," in value or "_" in value:
            value = value.replace(",", "") if "_" not in value else ""
        converted = float(value)
    except ValueError:
        raise FieldError(where, value, "is not a number") from None
    return number(converted, where)


def text(value: object, where: str) -> str:
    """Return a value that must be text.

    Raises:
        FieldError: It is not text, or not valid Unicode.
    """
    if not isinstance(value, str):
        raise FieldError(where, value, "is missing" if value is None else "is not text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # JSON can hold lone surrogates, which no table can
            raise FieldError(where, value, "is not valid text") from None
    return value


def optional_text(value: object, where: str) -> str:
    """Return a value that must be text or missing (None); missing text is empty.

    Raises:
        FieldError: It is neither.
    """
    return "" if value is None else text(value, where)


def label(value: object, where: str) -> str:
    """Return a text, number or truth value as a part of an identity: 8, 8.0 and "8" are equal.

    Raises:
        FieldError: It is something else.

    Example:
        >>> label(8.0, "params.size"), label(True, "params.fast")
        ('8', 'true')
    """
    if isinstance(value, (int, float)):
        return canonical_text(value)
    return text(value, where)


def arguments(values: Mapping[str, Any], where: str) -> tuple[tuple[str, str], ...]:
    """Return the parameters of a benchmark as the arguments of an identity, sorted by name.

    Raises:
        FieldError: A name is not valid text, or a value is an object or an array.
    """
    pairs = ((text(name, where), label(value, at(where, name))) for name, value in values.items())
    return tuple(sorted(pairs))


def direction(text: str, field: str) -> Direction:
    """Return the direction that a text names.

    Args:
        text: The text, such as "lower", "smaller_is_better" or "-1".
        field: Its key or column; `lower_is_better` and the like may be true or false.

    Raises:
        FieldError: It names no direction.

    Example:
        >>> direction("smaller_is_better", "direction").name, direction("1", "direction").name
        ('LOWER_IS_BETTER', 'HIGHER_IS_BETTER')
        >>> direction("true", "lower_is_better").name, direction("0", "lowerIsBetter").name
        ('LOWER_IS_BETTER', 'HIGHER_IS_BETTER')
    """
    word = text.strip().lower().replace("-", "_").replace(" ", "_") if text[:1] != "-" else text
    if not word:
        return Direction.UNKNOWN
    column = field.rpartition(".")[2].lower().replace("_", "")
    if column.endswith("isbetter") and word in ("true", "false", "1", "0", "yes", "no", "t", "f"):
        way = -1 if column.startswith(("lower", "smaller", "less")) else 1
        return Direction(way if word in ("true", "1", "yes", "t") else -way)
    word = word.removesuffix("_is_better").removesuffix("isbetter").removesuffix("_better")
    if word in ("-1", "0", "1", "-1.0", "0.0", "1.0", "+1"):
        return Direction(int(float(word)))
    if word in DIRECTIONS:
        return Direction(DIRECTIONS[word])
    allowed = "direction is not -1, 0, 1, lower_is_better, higher_is_better or unknown"
    raise FieldError(field, text, allowed)


def direction_in(fields: Mapping[str, Any], keys: Iterable[str], where: str) -> Direction:
    """Return the direction that the first of some keys states; unknown if none is there."""
    for key in keys:
        if fields.get(key) is not None:
            here = at(where, key)
            return direction(label(fields[key], here), here)
    return Direction.UNKNOWN


def project_of_url(url: str) -> str:
    """Return the project that the address of a repository names, without the host.

    Example:
        >>> project_of_url("https://github.com/acme/parser.git")
        'acme/parser'
    """
    path = re.sub(r"^(?:[a-z+]+://)?(?:[^/@]*@)?[^/:]+[:/](?:\d+/)?", "", url.strip())
    return path.removesuffix("/").removesuffix(".git") or url.strip()


def skipped(file: InputFile, where: str, value: object, reason: str) -> Skip:
    """Return the record of a value that a format leaves out.

    Args:
        file: The file that is read.
        where: The place of the value in it.
        value: The value.
        reason: Why it is left out: one of a few short texts, as skips are counted by reason.
    """
    return Skip(Place(file.name, 0), where, value, reason, "points")


def time_ms(value: object, where: str) -> int:
    """Return a time in milliseconds since 1970; a missing time (None, "") is `UNKNOWN_TIME`.

    Args:
        value: Unix seconds, milliseconds, microseconds or nanoseconds, as a number or its text;
            or a date with or without a time and a zone, in the order year, month, day.
        where: The place, for the error.

    Raises:
        FieldError: It is not a time between the years 1 and 9999.

    Example:
        >>> time_ms(1706220908, "date") == time_ms("2024-01-25T22:15:08Z", "date")
        True
        >>> time_ms("2024.01.25 23:15:08 +0100", "date")
        1706220908000
    """
    if value is None or value == "":
        return UNKNOWN_TIME
    if isinstance(value, str):
        time = _time_of_text(value)
    elif type(value) is int or type(value) is float:
        time = _unix_time(value)
    else:
        time = None
    if time is None or not TIME_RANGE[0] <= time <= TIME_RANGE[1]:
        raise FieldError(where, value, "is not a time")
    return time


def _unix_time(value: float) -> int | None:
    """Return milliseconds for a Unix time in the unit that its size implies."""
    size = abs(value)
    if size < SECONDS:
        return round(value * 1000)
    if size < MILLISECONDS:
        return round(value)
    if size < MICROSECONDS:
        return round(value / 1000)
    return round(value / 1_000_000) if size < math.inf and size < 1e300 else None


@lru_cache(4096)  # all results of a commit have the same time
def _time_of_text(value: str) -> int | None:
    stripped = value.strip()
    try:
        if len(stripped) >= 9 and stripped.replace(".", "", 1).isdigit() and stripped.isascii():
            return _unix_time(float(stripped) if "." in stripped else int(stripped))
        match = DATE.fullmatch(stripped)
        moment = _moment(*match.groups()) if match else _other_date(stripped)
        return (moment - EPOCH) // MILLISECOND
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _other_date(stripped: str) -> datetime:
    """Return the moment of an ISO date of another form, or of a date as in an e-mail."""
    if len(stripped) > 100:
        raise ValueError("too long")
    try:
        moment = datetime.fromisoformat(stripped)
    except ValueError:
        moment = parsedate_to_datetime(stripped)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _moment(year: str, month: str, day: str, *rest: str | None) -> datetime:
    """Return the moment of the groups of `DATE`; without a zone it is UTC."""
    hour, minute, second, fraction, zone = rest
    moment = datetime(
        int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0),
        int((fraction or "").ljust(6, "0")[:6]), tzinfo=UTC,
    )  # fmt: skip
    if zone and zone[0] in "+-":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        moment = moment.replace(tzinfo=timezone(-offset if zone[0] == "-" else offset))
    return moment
