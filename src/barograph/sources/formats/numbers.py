"""The numbers that files hold: JSON numbers, numbers in text, and numbers with a unit."""

from __future__ import annotations

import math
import re
from typing import Any

from barograph.results.units import unit_of
from barograph.sources.fields import FieldError, value_of

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
# it: "1,204", "1'204.5", "1.2 K", "12 \u00b1 3 ms".
SPREAD = re.compile(r"\s?(?:\u00b1|\+/?-)")
GROUPED = re.compile(
    r"[+-]?(?:\d*[.,]?\d+|\d{1,3}(?:[.,'\u2019\s]\d{2,3})*[.,'\u2019\s]\d{3}(?:[.,]\d+)?)"
    rf"(?:[eE][+-]?\d{{1,3}})?{UNIT}"
)
MULTIPLES = frozenset((
    "K", "k", "M", "Mil", "G", "B", "Bil", "T", "Tri", "Ki", "Mi", "Gi", "Ti", "n",
    "\N{MICRO SIGN}", "\N{GREEK SMALL LETTER MU}",
))  # fmt: skip
NOT_PLAIN = "value is not a plain number: write it without separators, multiple and spread"


def is_missing(cell: Any) -> bool:
    """Return whether a cell says that there is no value."""
    if cell is None or cell == "":
        return True
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return isinstance(cell, float) and cell != cell


def number(value: object, where: str) -> float:
    """Return a value that must be a finite number; text and truth values are not numbers.

    Raises:
        FieldError: It is not a finite number.

    Example:
        >>> number(3, "mean")
        3.0
    """
    if type(value) is not float and type(value) is not int:
        raise FieldError(where, value, "is missing" if value is None else "is not a number")
    try:
        converted = float(value)
    except OverflowError:
        converted = math.inf
    if math.isfinite(converted):
        return converted
    raise FieldError(where, value, "is not finite")


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
    if isinstance(value, str) and THOUSANDS.fullmatch(value.strip()):
        return plain(value.replace(",", ""), where)
    return plain(value, where) if isinstance(value, str) else number(value, where)


def plain(text: str, where: str) -> float:
    """Return the number that a text is, without separators between thousands.

    Raises:
        FieldError: It is no finite number.
    """
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
    unit = (match["unit"] or "") if match else ""
    text = match["number"] if match and _is_unit(unit, bool(match["space"])) else cell
    if decimal == ",":
        text = text.replace(".", "x").replace(",", ".")
    try:
        return plain(text, where), unit
    except FieldError as fault:
        is_almost = fault.reason == "is not a number" and is_almost_number(cell)
        reason = NOT_PLAIN if is_almost else f"value {fault.reason}"
        raise FieldError(where, cell, reason) from None


def _is_unit(unit: str, is_apart: bool) -> bool:
    """Return whether a text after a number is its unit: "7b" is the size of a model more often."""
    return unit in ("", "%", "s") or ((is_apart or len(unit) > 1) and unit_of(unit) is not None)


def is_almost_number(text: str) -> bool:
    """Return whether a text stands for a number in a way that is not read.

    Example:
        >>> is_almost_number("1,204"), is_almost_number("1.2 K"), is_almost_number("31.01.2024")
        (True, True, False)
    """
    head = SPREAD.split(text.strip(), maxsplit=1)[0]
    match = GROUPED.fullmatch(head) if len(text) <= LONGEST else None
    if match is None:
        return False
    unit, is_apart = match["unit"] or "", bool(match["space"])
    if unit in MULTIPLES:
        return is_apart or len(unit) > 1
    return _is_unit(unit, is_apart)


def is_number(text: str) -> bool:
    """Return whether a text is a number, whatever its decimal sign, or stands for one."""
    return NUMBER.fullmatch(text.strip().replace(",", ".")) is not None or is_almost_number(text)
