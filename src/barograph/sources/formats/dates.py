"""Times in result files: Unix times in any unit, and dates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any

from barograph.results.fields import EPOCH, MILLISECOND, FieldError
from barograph.results.series import TIME_RANGE, UNKNOWN_TIME
from barograph.runtime.errors import DataError

# The unit of a Unix time follows from its size: smaller numbers than the first are seconds, then
# come milliseconds, microseconds and nanoseconds. All times from 1973 to 5138 are recognised.
UNITS = ((1e11, 1000, 1), (1e14, 1, 1), (1e17, 1, 1000), (1e300, 1, 1_000_000))
DATE = re.compile(
    r"(\d{4})[-./](\d\d?)[-./](\d\d?)"
    r"(?:[T ]\s*(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?"
    r"\s*(?:Z|UTC|GMT|([+-]\d\d)(?::?(\d\d))?)?",
    re.ASCII,
)
SLASHED = re.compile(r"\s*(\d{1,2})([/.\-])(\d{1,2})\2(\d{4})(?!\d)(.*)", re.DOTALL)
COMPACT = re.compile(r"((?:19|20)\d{6})(\d{6})", re.ASCII)  # 20240131123000
UNIX = re.compile(r"(?=.{9})\d+\.?\d*|\.\d{8,}", re.ASCII)


class Milliseconds(int):
    """A time in milliseconds since 1970, whatever its size."""


def time_ms(value: object, where: str, order: str = "iso") -> int:
    """Return a time in milliseconds since 1970; a missing time (None, "") is `UNKNOWN_TIME`.

    Args:
        value: Unix seconds, milliseconds, microseconds or nanoseconds, as a number or its text;
            or a date with or without a time and a zone, in the order year, month, day.
        where: The place, for the error.
        order: The order of day and month in dates such as 31/01/2024: `day-first` or
            `month-first`; with `iso` they are refused.

    Raises:
        FieldError: It is not a time between the years 1 and 9999.

    Example:
        >>> time_ms(1706220908, "date") == time_ms("2024-01-25T22:15:08Z", "date")
        True
        >>> time_ms("2024.01.25 23:15:08 +0100", "date")
        1706220908000
        >>> time_ms("31/01/2024 10:00", "date", "day-first")
        1706695200000
    """
    if value is None or value == "":
        return UNKNOWN_TIME
    time = None
    if isinstance(value, str):
        time = _time_of_text(value, order)
    elif isinstance(value, Milliseconds):
        time = int(value)
    elif type(value) is int or type(value) is float:
        time = _unix_time(value)
    if time is None or not TIME_RANGE[0] <= time <= TIME_RANGE[1]:
        raise FieldError(where, value, "is not a time")
    return time


def time_of_form(text: str, form: str) -> int:
    """Return the time in a text of a form of `strptime`, taken as UTC; else `UNKNOWN_TIME`."""
    try:
        return (datetime.strptime(text, form).replace(tzinfo=UTC) - EPOCH) // MILLISECOND
    except ValueError:
        return UNKNOWN_TIME


def _unix_time(value: float) -> int | None:
    """Return milliseconds for a Unix time in the unit that its size implies."""
    for limit, factor, divisor in UNITS:
        if abs(value) < limit:
            return round(value * factor / divisor)
    return None


@lru_cache(4096)  # all results of a commit have the same time
def _time_of_text(text: str, order: str) -> int | None:
    stripped = text.strip()
    slashed = SLASHED.fullmatch(stripped) if order != "iso" else None
    if slashed:
        first, sign, second, year, rest = slashed.groups()
        day, month = (first, second) if order == "day-first" or sign == "." else (second, first)
        stripped = f"{year}-{month}-{day}{rest}"
    stripped = COMPACT.sub(r"\1T\2", stripped) if COMPACT.fullmatch(stripped) else stripped
    try:
        if UNIX.fullmatch(stripped):
            return _unix_time(float(stripped) if "." in stripped else int(stripped))
        if match := DATE.fullmatch(stripped):
            year, month, day, hour, minute, second, fraction, hours, minutes = match.groups("0")
            zone = f"{hours}:{minutes:0>2}" if match[8] else "+00:00"
            clock = f"{hour:0>2}:{minute:0>2}:{second:0>2}.{fraction:0<6}"
            stripped = f"{year}-{month:0>2}-{day:0>2}T{clock}{zone}"
        moment = datetime.fromisoformat(stripped)
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // MILLISECOND
    except (ValueError, OverflowError):
        return None


def day_order(cells: Iterable[Any], where: str) -> tuple[str, str]:
    """Return whether day or month comes first in dates such as 03/04/2024.

    A number above 12 says it; else the order in which the dates rise or fall more steadily.

    Args:
        cells: The cells, of which those that are no such dates do not matter.
        where: The file and the column, for the error.

    Returns:
        `day-first` or `month-first`, and a note if no date alone says it.

    Raises:
        DataError: Dates of both kinds are mixed.

    Example:
        >>> day_order(["01/02/2024", "13/02/2024"], "runs.csv: date")
        ('day-first', '')
        >>> day_order(["01/02/2024"], "runs.csv: date")[1].partition(";")[0]
        'dates such as 01/02/2024 read as month/day/year'
    """
    texts = (cell for cell in cells if isinstance(cell, str))
    dates = [match for match in map(SLASHED.match, texts) if match]
    day = [match for match in dates if match[2] == "." or int(match[1]) > 12]
    month = [match for match in dates if match[2] != "." and int(match[3]) > 12]
    if day and month:
        shown = f"{day[0][0].strip()!r} and {month[0][0].strip()!r}"
        raise DataError(
            f"{where}: dates with the day first and with the month first are mixed: {shown}; "
            "write them as YYYY-MM-DD"
        )
    if day or month or not dates:
        return ("day-first" if day else "month-first"), ""
    is_day = _steadiness(dates, 4, 3, 1) > _steadiness(dates, 4, 1, 3)
    shown = f"{dates[0][0].strip()[:10]} read as {'day/month' if is_day else 'month/day'}/year"
    note = f"dates such as {shown}; dates in [input] of barograph.toml sets it"
    return ("day-first" if is_day else "month-first"), note


def _steadiness(dates: list[re.Match[str]], *groups: int) -> int:
    """Return how many more steps between dates go one way than the other."""
    keys = [[int(date[group]) for group in groups] for date in dates]
    return abs(sum((b > a) - (b < a) for a, b in pairwise(keys)))
