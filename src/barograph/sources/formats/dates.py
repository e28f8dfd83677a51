"""Times: Unix times of any unit, ISO 8601, and dates in which the day may come before the month."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

import numpy as np

from barograph.results.series import TIME_RANGE, UNKNOWN_TIME, Ints
from barograph.sources.fields import EPOCH, MILLISECOND, FieldError

# The unit of a Unix time follows from its size: smaller numbers than the first are seconds, then
# come milliseconds, microseconds and nanoseconds. All times from 1973 to 5138 are recognised.
SECONDS, MILLISECONDS, MICROSECONDS = 100_000_000_000, 100_000_000_000_000, 100_000_000_000_000_000
DATE = re.compile(
    r"(\d{4})[-./](\d\d?)[-./](\d\d?)"
    r"(?:[T ]\s*(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d\d:?(?:\d\d)?)?"
)
SLASHED = re.compile(r"\s*(\d{1,2})([/.\-])(\d{1,2})\2(\d{4}|\d\d)(?!\d)(.*)", re.DOTALL)
NAMED_MONTH = re.compile(r"([A-Z][a-z]{2})[a-z]{0,6}\.? (\d\d?), (\d{4})(?!\d)(.*)")  # Jan 31, 2024
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
        from email.utils import parsedate_to_datetime  # takes 4 ms, and such dates are rare

        moment = parsedate_to_datetime(stripped)
    return _with_zone(moment)


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


def day_order(cells: Iterable[Any], *, european: bool) -> tuple[bool, str]:
    """Decide whether the day comes first in dates such as 03/04/2024.

    Args:
        cells: The cells, of which those that are no such dates do not matter.
        european: Whether other signs speak for a country that writes the day first.

    Returns:
        Whether it does, and a note if the dates alone do not say it.

    Example:
        >>> day_order(["01/02/2024", "13/02/2024"], european=False)
        (True, '')
        >>> day_order(["01/02/2024"], european=False)[1]
        'dates such as 01/02/2024 read as month/day/year: the file does not say which'
    """
    example, both = "", set()
    rising = {True: 0, False: 0}
    last: dict[bool, tuple[int, int, int]] = {}
    for cell in cells:
        match = SLASHED.match(cell) if isinstance(cell, str) else None
        if match is None:
            continue
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        example = example or cell.strip()[:10]
        if match[2] == "." or first > 12:
            both.add(True)
        elif second > 12:
            both.add(False)
        for way, (month, day) in ((True, (second, first)), (False, (first, second))):
            date = (year, month, day)
            previous = last.get(way, date)
            rising[way] += (date > previous) - (date < previous)
            last[way] = date
    if len(both) == 1 or not example:
        return True in both, ""
    if len(both) == 2:
        return european, "dates with the day first and with the month first are mixed"
    way = european
    steps = {key: abs(count) for key, count in rising.items()}
    if steps[True] != steps[False]:
        way = steps[True] > steps[False]
    shown = "day/month/year" if way else "month/day/year"
    return way, f"dates such as {example} read as {shown}: the file does not say which"


class DateParser:
    """Reads times of a table.

    Args:
        day_first: Whether the day comes before the month.

    Example:
        >>> DateParser(day_first=True)("31/01/2024 10:00", "date")
        1706695200000
    """

    def __init__(self, *, day_first: bool = False) -> None:
        self._day_first = day_first

    def __call__(self, cell: Any, field: str) -> int:
        """Return milliseconds since 1970.

        Raises:
            FieldError: The cell is not a time.
        """
        if isinstance(cell, bool):
            raise FieldError(field, cell, "not a time")
        if isinstance(cell, str):
            cell = self._plain(cell.strip())
        elif type(cell) is not int and isinstance(cell, int):  # milliseconds of a typed column
            return int(cell)
        try:
            return time_ms(cell, field)
        except FieldError:
            raise FieldError(field, cell, "not a time") from None

    def _plain(self, text: str) -> str:
        """Return a text with the year first."""
        if COMPACT.fullmatch(text):
            return f"{text[:8]}T{text[8:]}"
        named = NAMED_MONTH.fullmatch(text)
        if named is not None:  # as in an e-mail, which is read
            month, day, year, rest = named.groups()
            return f"{day} {month} {year}{_clock(rest) or ' 0:00'}"
        match = SLASHED.fullmatch(text)
        if match is None:
            return text
        first, sign, second, year, rest = match.groups()
        day, month = (first, second) if self._day_first or sign == "." else (second, first)
        full = year if len(year) == 4 else f"20{year}"
        return f"{full}-{month.zfill(2)}-{day.zfill(2)}{_clock(rest)}"


def iso_times(cells: Sequence[Any]) -> Ints | None:
    """Convert ISO times with a date and a time of day; None if a cell is anything else.

    Example:
        >>> iso_times(["2024-01-31T10:00:00Z", "2024-01-31 10:00:00.250"])
        array([1706695200000, 1706695200250])
        >>> iso_times(["2024-01-31"])
    """
    try:
        if not all(cell[4] == "-" and cell[10] in "T " for cell in cells):
            return None
        moments = (_with_zone(datetime.fromisoformat(cell)) for cell in cells)
        times = np.array([(moment - EPOCH) // MILLISECOND for moment in moments], dtype=np.int64)
    except (TypeError, ValueError, IndexError):  # not text, or a day that no calendar has
        return None
    is_valid = times.size and TIME_RANGE[0] <= times.min() <= times.max() <= TIME_RANGE[1]
    return times if is_valid else None


def _with_zone(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _clock(rest: str) -> str:
    """Return the time of day with 24 hours."""
    match = re.fullmatch(r",?\s*(\d{1,2}):(\d\d)(?::(\d\d))?\s*([AaPp])\.?[Mm]\.?\s*", rest)
    if match is None:
        return rest.replace(",", " ", 1) if rest.lstrip().startswith(",") else rest
    hour = int(match[1]) % 12 + (12 if match[4].lower() == "p" else 0)
    return f" {hour:02}:{match[2]}:{match[3] or '00'}"
