"""The cells of tables and the numbers of other files: text, numbers, and numbers with a unit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from math import nan
from typing import Any, TypeVar

import numpy as np

from barograph.results.fields import FieldError, order_of, value_of
from barograph.results.repeats import NO_ORDER
from barograph.results.series import Floats, Ints, canonical_text
from barograph.results.units import unit_of

Faults = dict[int, FieldError]
T = TypeVar("T")
NO_ORDER_GIVEN = "order is missing; fill it in, or ignore the column with --map COLUMN=ignore"
REPLACED = "\N{REPLACEMENT CHARACTER}"  # of bytes that are not UTF-8
WHOLE = re.compile(r"#?([+-]?\d{1,30})", re.ASCII)  # builds are written "#12", too
MISSING = frozenset((
    "", "na", "n/a", "n.a.", "n. a.", "k.a.", "k. a.", "nan", "null", "none", "nil", "-", "--",
    "\u2013", "\u2014", "?", "#n/a", "#na", "#div/0!", "#value!", "#ref!", "#num!", "#null!",
))  # fmt: skip
INFINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
LONGEST = 400  # characters of a number
NUMBER = re.compile(r"[+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?", re.ASCII)
THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
UNIT = r"(?P<space>\s?)(?P<unit>[^\W\d_][\w/%.]{0,20}|%)?"
MEASURED = re.compile(rf"(?P<number>[+-]?[\d.,]++(?:[eE][+-]?\d{{1,3}})?){UNIT}")  # "12.5 ms"
# What spreadsheets and dashboards write, and nobody can read without knowing which of them wrote
# it: separators ("1,204"), multiples ("1.2 K") and spreads ("12 +- 3 ms").
MULTIPLE = r"(?:\s(?:[KkMGBTn\u00b5\u03bc]|Mil|Bil|Tri)|\s?(?:[KMGT]i|Mil|Bil|Tri))"
ALMOST = re.compile(
    r"[+-]?(?:\d*[.,]?\d+|\d{1,3}(?:[.,'\u2019\s]\d{2,3})*[.,'\u2019\s]\d{3}(?:[.,]\d+)?)"
    rf"(?:[eE][+-]?\d{{1,3}})?(?:{MULTIPLE}|{UNIT})(?:\s?(?:\u00b1|\+/?-).*)?"
)
NOT_PLAIN = "value is not a plain number: write it without separators, multiple and spread"


def is_missing(cell: Any) -> bool:
    """Return whether a cell says that there is no value."""
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or cell != cell


def number(value: object, where: str) -> float:
    """Return a value that must be a finite number; text and truth values are not numbers.

    Raises:
        FieldError: It is not a finite number.

    Example:
        >>> number(3, "mean")
        3.0
    """
    if type(value) is float and math.isfinite(value):
        return value
    try:
        return value_of(value, where)
    except FieldError as fault:
        raise FieldError(where, value, fault.reason.removeprefix("value ")) from None


def numeric(value: object, where: str) -> float:
    """Return a value that must be a finite number or the text of one, as tools print it.

    Args:
        value: A number, or text, which may have a comma between thousands.
        where: The place, for the error.

    Raises:
        FieldError: It is neither.

    Example:
        >>> numeric("1,024.5", "value"), numeric("1e3", "value")
        (1024.5, 1000.0)
    """
    if not isinstance(value, str):
        return number(value, where)
    return _plain(value.replace(",", "") if THOUSANDS.fullmatch(value.strip()) else value, where)


def _plain(text: str, where: str) -> float:
    """Return the finite number that a text is, without separators between thousands."""
    stripped = text.strip()
    if stripped.lower() in MISSING:
        raise FieldError(where, text, "is missing")
    if len(stripped) > LONGEST or not NUMBER.fullmatch(stripped):
        reason = "is not finite" if INFINITE.fullmatch(stripped) else "is not a number"
        raise FieldError(where, text, reason)
    return number(float(stripped), where)


def measured(cell: Any, where: str, decimal: str = ".") -> tuple[float, str]:
    """Return a finite number and its unit.

    Args:
        cell: Text, a number, or the decimal of a database.
        where: The place, for the error.
        decimal: The decimal sign. Nothing may separate thousands.

    Raises:
        FieldError: It is no number, or its unit is not known.

    Example:
        >>> measured("12.5 ms", "p99"), measured("8", "p99"), measured("1,5", "p99", ",")
        ((12.5, 'ms'), (8.0, ''), (1.5, ''))
    """
    if not isinstance(cell, str):
        return value_of(cell, where), ""
    match = MEASURED.fullmatch(cell.strip())
    has_unit = match is not None and _has_unit(match)
    text, unit = (match["number"], match["unit"] or "") if match and has_unit else (cell, "")
    if decimal == ",":
        text = text.replace(".", "x").replace(",", ".")
    try:
        return _plain(text, where), unit
    except FieldError as fault:
        is_almost = fault.reason == "is not a number" and _is_almost_number(cell)
        reason = NOT_PLAIN if is_almost else f"value {fault.reason}"
        raise FieldError(where, cell, reason) from None


def _has_unit(match: re.Match[str]) -> bool:
    """Return whether the text after a number is a unit: "7b" is the size of a model more often."""
    unit, is_apart = match["unit"] or "", bool(match["space"])
    return unit in ("", "%", "s") or ((is_apart or len(unit) > 1) and unit_of(unit) is not None)


def _is_almost_number(text: str) -> bool:
    """Return whether a text, such as "1,204" or "1.2 K", stands for a number that is not read."""
    match = ALMOST.fullmatch(text.strip()) if len(text) <= LONGEST else None
    return match is not None and _has_unit(match)


def is_number(text: str) -> bool:
    """Return whether a text is a number, whatever its decimal sign, or stands for one."""
    return NUMBER.fullmatch(text.strip().replace(",", ".")) is not None or _is_almost_number(text)


def converted(
    cells: Sequence[Any], read: Callable[[Any], T], missing: T, faults: Faults
) -> list[T]:
    """Convert cells, each text once.

    Args:
        cells: The cells.
        read: Converts a cell, or raises `FieldError`.
        missing: Stands for cells that cannot be used.
        faults: Takes the reason of each row, unless it has one.
    """
    known: dict[str, T] = {}
    values = []
    for row, cell in enumerate(cells):
        is_text = type(cell) is str
        try:
            value = known[cell] if is_text and cell in known else read(cell)
            if is_text:
                known[cell] = value
        except FieldError as fault:
            faults.setdefault(row, fault)
            value = missing
        values.append(value)
    return values


def plain_numbers(cells: Sequence[Any]) -> Floats | None:
    """Convert to finite numbers all at once, NaN for empty cells; None if any needs more care."""
    kinds = set(map(type, cells))
    if not kinds <= {int, float, str, type(None)}:
        return None
    if str in kinds and "_" in "".join([cell for cell in cells if type(cell) is str]):
        return None  # float() reads 1_000
    try:
        full = [nan if cell is None or cell == "" else cell for cell in cells]
        values = np.fromiter(map(float, full), np.float64, len(cells))
    except (ValueError, OverflowError):
        return None
    return None if np.isinf(values).any() else values


def orders(cells: Sequence[Any], field: str) -> tuple[Ints, Faults]:
    """Convert to whole numbers; `NO_ORDER` in place of cells that cannot be used."""
    faults: Faults = {}
    values = converted(cells, lambda cell: order_in(cell, field), NO_ORDER, faults)
    return np.array(values, dtype=np.int64), faults


def order_in(cell: Any, field: str) -> int:
    """Return the whole number in a cell.

    Raises:
        FieldError: It holds none.

    Example:
        >>> order_in("#12", "build"), order_in(12.0, "build")
        (12, 12)
    """
    if is_missing(cell):
        raise FieldError(field, cell, NO_ORDER_GIVEN)
    if isinstance(cell, str):
        text = cell.strip()
        if whole := WHOLE.fullmatch(text):
            cell = int(whole[1])
        elif NUMBER.fullmatch(text):
            cell = float(text)
    order = order_of(cell, field)
    return NO_ORDER if order is None else order


def label(cell: Any, field: str) -> str:
    """Return a cell as text: 16, 16.0 and "16" are equal.

    Example:
        >>> label(" main ", "branch"), label(16.0, "args.threads"), label({"b": 1}, "args")
        ('main', '16', '{"b": 1}')
    """
    if cell is None:
        return ""
    text = cell.strip() if isinstance(cell, str) else canonical_text(cell)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FieldError(field, cell, "not valid text") from None
    return text
