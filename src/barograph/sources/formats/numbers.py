"""The numbers that files hold: JSON numbers, numbers in text, and numbers with a unit."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
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
# "1,234,567.5", "1.234,5", "1 234", "1'234" and, as in India, "12,34,567"
GROUPED = re.compile(
    r"(?P<groups>[+-]?\d{1,3}(?P<separator>[.,'\u2019]|\s)(?:\d\d\d?(?P=separator))*\d{3})"
    r"(?P<rest>(?:[.,]\d*)?(?:[eE][+-]?\d+)?)",
)
GROUP = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # "1,024": thousands, or three decimals
COMMA = re.compile(r"[+-]?\d*(?:[\s'\u2019]\d{3})*,\d+")
WORD = r"[^\W\d_][\w/%.]{0,20}"
# "12.5 ms", "1.2 K", "1.2K req/s", "1,234.5 \u00b1 3 us", "8 ms +- 1 ms"
MEASURED = re.compile(
    r"(?P<number>[+-]?[.,]?\d(?:[\d.,\s'\u2019]{0,40}\d)?\.?(?:[eE][+-]?\d{1,3})?)(?P<space>\s?)"
    rf"(?P<unit>{WORD}(?:\s{WORD})?|%)?"
    r"(?:\s?(?:\u00b1|\+/?-)\s?[\d.,]{1,40}(?:[eE][+-]?\d{1,3})?\s?"
    rf"(?P<after>{WORD}|%)?)?"
)
# The multiples that Grafana, Kubernetes and others write in place of a unit, or before it.
MULTIPLES = {
    **dict.fromkeys(("K", "k"), 1e3), **dict.fromkeys(("M", "Mil"), 1e6),
    **dict.fromkeys(("G", "B", "Bil"), 1e9), **dict.fromkeys(("T", "Tri"), 1e12),
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40,
    "\N{MICRO SIGN}": 1e-6, "\N{GREEK SMALL LETTER MU}": 1e-6, "n": 1e-9,
}  # fmt: skip


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


def numeric(value: object, where: str, *, decimal_comma: bool = False) -> float:
    """Return a value that must be a finite number or the text of one.

    Args:
        value: A number, or text, which may have separators between thousands.
        where: The place, for the error.
        decimal_comma: Whether a comma is the decimal sign in text, and a dot separates thousands.

    Raises:
        FieldError: It is neither.

    Example:
        >>> numeric("1,024.5", "value"), numeric("1.024,5", "value", decimal_comma=True)
        (1024.5, 1024.5)
    """
    if not isinstance(value, str):
        return number(value, where)
    text = value.strip()
    if text.lower() in MISSING:
        raise FieldError(where, value, "is missing")
    plain = _plain(text, "," if decimal_comma else ".") if len(text) <= LONGEST else ""
    if not NUMBER.fullmatch(plain):
        reason = "is not finite" if INFINITE.fullmatch(text) else "is not a number"
        raise FieldError(where, value, reason)
    converted = float(plain)
    if math.isinf(converted):
        raise FieldError(where, value, "is not finite")
    return converted


def _plain(text: str, decimal: str) -> str:
    """Return the text of a number without separators of thousands, and with a decimal point."""
    grouped = GROUPED.fullmatch(text)
    if grouped is not None and grouped["separator"] != decimal:
        text = grouped["groups"].replace(grouped["separator"], "") + grouped["rest"]
    return text.replace(".", "x").replace(",", ".") if decimal == "," else text


def is_number(text: str) -> bool:
    """Return whether a text is a number, whatever its decimal sign."""
    for decimal_comma in (False, True):
        try:
            numeric(text, "", decimal_comma=decimal_comma)
        except FieldError:
            continue
        return True
    return False


def measured(cell: Any, where: str, *, decimal_comma: bool = False) -> tuple[float, str]:
    """Return a finite number and its unit; a spread after the number is left out.

    Args:
        cell: Text, a number, or the decimal of a database.
        where: The place, for the error.
        decimal_comma: Whether a comma is the decimal sign.

    Raises:
        FieldError: It is no number, or its unit is not known.

    Example:
        >>> measured("12.5 ms", "p99"), measured("1,204 \u00b1 3 us", "p99"), measured("8", "p99")
        ((12.5, 'ms'), (1204.0, 'us'), (8.0, ''))
        >>> measured("1.2 K", "requests"), measured("1.2K req/s", "rate")
        ((1200.0, ''), (1200.0, 'req/s'))
    """
    if not isinstance(cell, str):
        return value_of(cell, where), ""
    text, multiple, unit = _parts(cell)
    try:
        value = numeric(text, where, decimal_comma=decimal_comma)
    except FieldError as fault:
        raise FieldError(where, cell, f"value {fault.reason}") from None
    # Rounded, since 1.15 K is 1150 and 1.15 * 1e3 is not.
    return (value if multiple == 1 else float(f"{value * multiple:.15g}")), unit


def _parts(cell: str) -> tuple[str, float, str]:
    """Return the number in a text, what multiplies it, and its unit.

    A text that is anything else is returned whole.
    """
    match = MEASURED.fullmatch(cell.strip())
    if match is None:
        return cell, 1.0, ""
    unit = match["unit"] or match["after"] or ""
    # "7b" is the size of a model more often than seven bytes.
    is_apart = bool(match["space"]) or len(unit) > 1
    name, _, counted = unit.partition(" ")
    if counted and name in MULTIPLES and unit_of(counted) is not None:
        return match["number"], MULTIPLES[name], counted
    if unit in ("", "%", "s") or (is_apart and unit_of(unit) is not None):
        return match["number"], 1.0, unit
    if is_apart and unit in MULTIPLES:
        return match["number"], MULTIPLES[unit], ""
    return cell, 1.0, ""


def has_decimal_comma(columns: Iterable[Sequence[Any]], delimiter: str = "") -> bool:
    """Return whether a comma is the decimal sign in the first cells of some columns of values.

    Where all cells are as ambiguous as "1,024", it is in tables with semicolons: spreadsheets
    write them because the comma is the decimal sign.

    Args:
        columns: The cells.
        delimiter: The character between the cells.

    Example:
        >>> has_decimal_comma([["1,5", "2,25"]]), has_decimal_comma([["1,024", "2.5"]])
        (True, False)
        >>> has_decimal_comma([["1,024"]], ";"), has_decimal_comma([["0,125", "1,024"]])
        (True, True)
    """
    commas = dots = ambiguous = 0
    for cell in (cell for cells in columns for cell in cells if isinstance(cell, str)):
        # Without a spread, which may be all that has a comma.
        text = _parts(cell)[0].strip() if "," in cell else cell
        if "," in text:
            is_group = GROUP.fullmatch(text) is not None
            ambiguous += is_group
            commas += bool(COMMA.fullmatch(text)) and not is_group
            dots += text.rfind(".") > text.rindex(",") or text.count(",") > 1
            commas += "." in text and text.rindex(".") < text.rindex(",")
        elif "." in text:
            dots += 1
    return commas > dots or (delimiter == ";" and ambiguous > commas == dots == 0)
