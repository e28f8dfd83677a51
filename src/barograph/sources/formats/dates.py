"""Times: Unix times of any unit, ISO 8601, and dates in which the day may come before the month."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from itertools import pairwise
from typing import Any

from barograph.results.fields import EPOCH, MILLISECOND, FieldError
from barograph.results.series import TIME_RANGE, UNKNOWN_TIME
from barograph.runtime.errors import DataError

# The unit of a Unix time follows from its size: smaller numbers than the first are seconds, then
# come milliseconds, microseconds and nanoseconds. All times from 1973 to 5138 are recognised.
SECONDS, MILLISECONDS, MICROSECONDS = 100_000_000_000, 100_000_000_000_000, 100_000_000_000_000_000
DATE = re.compile(
    r"(\d{4})[-./](\d\d?)[-./](\d\d?)"
    r"(?:[T ]\s*(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)?"
)
SLASHED = re.compile(r"\s*(\d{1,2})([/.\-])(\d{1,2})\2(\d{4})(?!\d)(.*)", re.DOTALL)
COMPACT = re.compile(r"(19|20)\d{12}")  # 20240131123000


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


def time_of_form(text: str, form: str) -> int:
    """Return the time in a text of a form of `strptime`, taken as UTC; else `UNKNOWN_TIME`."""
    try:
        return (datetime.strptime(text, form).replace(tzinfo=UTC) - EPOCH) // MILLISECOND
    except ValueError:
        return UNKNOWN_TIME


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
    if COMPACT.fullmatch(stripped):
        stripped = f"{stripped[:8]}T{stripped[8:]}"
    try:
        if len(stripped) >= 9 and stripped.replace(".", "", 1).isdigit() and stripped.isascii():
            return _unix_time(float(stripped) if "." in stripped else int(stripped))
        match = DATE.fullmatch(stripped)
        moment = _moment(*match.groups()) if match else datetime.fromisoformat(stripped)
        return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // MILLISECOND
    except (ValueError, OverflowError):
        return None


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


class Milliseconds(int):
    """A time in milliseconds since 1970, whatever its size."""


def cell_time(cell: Any, field: str, order: str = "month-first") -> int:
    """Return the time in a cell of a table, in milliseconds since 1970.

    Args:
        cell: As in `time_ms`; dates such as 31/01/2024, too.
        field: The name of the column.
        order: The order of day and month in such dates: `day-first` or `month-first`; with `iso`
            they are refused.

    Raises:
        FieldError: The cell is not a time.

    Example:
        >>> cell_time("31/01/2024 10:00", "date", "day-first")
        1706695200000
    """
    if isinstance(cell, Milliseconds):
        return int(cell)
    text = cell
    match = SLASHED.fullmatch(cell) if isinstance(cell, str) and order != "iso" else None
    if match is not None:
        first, sign, second, year, rest = match.groups()
        day, month = (first, second) if order == "day-first" or sign == "." else (second, first)
        text = f"{year}-{month.zfill(2)}-{day.zfill(2)}{rest}"
    try:
        return time_ms(text, field)
    except FieldError:
        raise FieldError(field, cell, "not a time") from None


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
    dates = [match for match in map(SLASHED.match, filter(_is_text, cells)) if match]
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
    days = _steadiness([(match[4], int(match[3]), int(match[1])) for match in dates])
    months = _steadiness([(match[4], int(match[1]), int(match[3])) for match in dates])
    order, shown = ("day-first", "day/month") if days > months else ("month-first", "month/day")
    return order, (
        f"dates such as {dates[0][0].strip()[:10]} read as {shown}/year; "
        "dates in [input] of barograph.toml sets it"
    )


def _is_text(cell: Any) -> bool:
    return isinstance(cell, str)


def _steadiness(dates: list[tuple[str, int, int]]) -> int:
    """Return how many more steps between dates go one way than the other."""
    steps = [(b > a) - (b < a) for a, b in pairwise(dates)]
    return abs(sum(steps))
