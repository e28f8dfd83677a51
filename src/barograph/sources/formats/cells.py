"""Convert the cells of a table column: numbers, orders, times and repeated texts.

A column that is sound is converted as a whole. One that is not is read cell by cell, and each cell
that cannot be used is named with the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from barograph.results.series import LARGEST_ORDER, UNKNOWN_TIME, Floats, Ints, canonical_text
from barograph.results.texts import Texts
from barograph.sources.fields import FieldError, order_of
from barograph.sources.formats.base import NO_ORDER
from barograph.sources.formats.dates import iso_times
from barograph.sources.formats.numbers import NUMBER, is_missing, measured

Faults = dict[int, FieldError]
NO_ORDER_GIVEN = "order is missing"
REPLACED = "\N{REPLACEMENT CHARACTER}"  # of bytes that are not UTF-8
WHOLE = re.compile(r"#?([+-]?\d{1,30})", re.ASCII)  # builds are written "#12", too
CACHED = 1 << 17  # texts
SAMPLED = 1000  # cells


def numbers(cells: Sequence[Any], field: str) -> tuple[Floats, Faults]:
    """Convert to finite numbers; NaN in place of cells that cannot be used."""
    values, units, faults = measurements(cells, field, decimal_comma=False)
    for row, unit in enumerate(units):
        if unit:
            values[row] = np.nan
            faults[row] = FieldError(field, cells[row], "value has a unit")
    return values, faults


def plain_numbers(cells: Sequence[Any]) -> Floats | None:
    """Convert to finite numbers all at once; None if a cell needs a closer look."""
    try:
        if set(map(type, cells)) <= {int, float}:
            values = np.array(cells, dtype=np.float64)
        else:
            values = np.fromiter(map(float, cells), np.float64, len(cells))
            if _is_odd(cells):
                return None
    except (ValueError, TypeError, OverflowError):
        return None
    return values if np.isfinite(values).all() else None


def _is_odd(cells: Sequence[Any]) -> bool:
    """Return whether Python reads as a number what is none: `1_000` or `true`."""
    try:
        return "_" in "".join(cells)
    except TypeError:
        pass  # not all cells are text
    kinds = set(map(type, cells))
    return bool in kinds or (str in kinds and any("_" in c for c in cells if type(c) is str))


def measurements(
    cells: Sequence[Any], field: str, decimal_comma: bool
) -> tuple[Floats, list[str], Faults]:
    """Convert to finite numbers and their units; no units if no cell has one.

    Args:
        cells: Text or numbers.
        field: The name of the column.
        decimal_comma: Whether a comma is the decimal sign, and a dot separates thousands.
    """
    plain = None if decimal_comma else plain_numbers(cells)
    if plain is not None:
        return plain, [], {}
    values = np.full(len(cells), np.nan)
    units = [""] * len(cells)
    faults: Faults = {}
    for row, cell in enumerate(cells):
        try:
            values[row], units[row] = measured(cell, field, decimal_comma=decimal_comma)
        except FieldError as fault:
            faults[row] = fault
    return values, units if any(units) else [], faults


def orders(cells: Sequence[Any], field: str) -> tuple[Ints, Faults]:
    """Convert to whole numbers; `NO_ORDER` in place of cells that cannot be used."""
    kinds = set(map(type, cells))
    if (kinds <= {str} and not _is_odd(cells)) or kinds <= {int}:
        try:
            converted = np.fromiter(map(int, cells), np.int64, len(cells))
            if (
                not converted.size
                or max(-int(converted.min()), int(converted.max())) <= LARGEST_ORDER
            ):
                return converted, {}
        except (ValueError, OverflowError):
            pass
    return _one_by_one(cells, field, _order, NO_ORDER)


def _order(cell: Any, field: str) -> int:
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


def _one_by_one(
    cells: Sequence[Any], field: str, convert: Callable[[Any, str], int], missing: int
) -> tuple[Ints, Faults]:
    converted = np.full(len(cells), missing, dtype=np.int64)
    faults: Faults = {}
    for row, cell in enumerate(cells):
        try:
            converted[row] = convert(cell, field)
        except FieldError as fault:
            faults[row] = fault
    return converted, faults


class TimeReader(dict[Any, int]):
    """Converts times, each text once.

    Args:
        field: The name of the column.
        convert: Returns milliseconds since 1970, or raises `FieldError`.
    """

    def __init__(self, field: str, convert: Callable[[Any, str], int]) -> None:
        super().__init__()
        self._field, self._convert = field, convert

    def __missing__(self, cell: Any) -> int:
        """Convert a cell, and remember the time."""
        time = UNKNOWN_TIME if is_missing(cell) else self._convert(cell, self._field)
        self[cell] = time
        return time

    def read(self, cells: Sequence[Any]) -> tuple[Ints, Faults]:
        """Convert cells; `UNKNOWN_TIME` in place of those that cannot be used."""
        if len(self) > CACHED:
            self.clear()
        try:
            if len(set(cells[:SAMPLED])) * 2 > SAMPLED:  # few times repeat
                times = iso_times(cells)
                if times is not None:
                    return times, {}
            return np.fromiter(map(self.__getitem__, cells), np.int64, len(cells)), {}
        except (FieldError, TypeError):
            pass
        return _one_by_one(cells, self._field, self._plain, UNKNOWN_TIME)

    def _plain(self, cell: Any, field: str) -> int:
        if isinstance(cell, (dict, list)):
            raise FieldError(field, cell, "is not a time")
        return self[cell]


class TextReader(dict[Any, int]):
    """Numbers texts in the order of their first occurrence; 0 is the empty text.

    Args:
        field: The name of the column.
    """

    def __init__(self, field: str) -> None:
        super().__init__()
        self._field = field
        self._codes: dict[str, int] = {"": 0}

    @property
    def names(self) -> list[str]:
        """The text of each number."""
        return list(self._codes)

    def __missing__(self, cell: Any) -> int:
        """Number a cell; equal texts have one number, whatever spaces are around them."""
        if type(cell) is bool:
            raise TypeError  # as a key, True is the same as 1
        self[cell] = code = self._plain(cell, self._field)
        return code

    def read(self, cells: Sequence[Any]) -> tuple[Texts, Faults]:
        """Number cells."""
        if len(self) > CACHED:
            self.clear()
        try:
            codes = np.fromiter(map(self.__getitem__, cells), np.int32, len(cells))
            if not self._ambiguous(cells):
                return Texts(codes, self.names), {}
        except (FieldError, TypeError):
            pass
        converted, faults = _one_by_one(cells, self._field, self._plain, 0)
        return Texts(converted.astype(np.int32), self.names), faults

    def _ambiguous(self, cells: Sequence[Any]) -> bool:
        """Return whether a cell may have got the number of another text: True equals 1."""
        return (1 in self or 0 in self) and bool in set(map(type, cells))

    def _plain(self, cell: Any, field: str) -> int:
        return self._codes.setdefault(label(cell, field), len(self._codes))


def decoded_args(text: str) -> dict[str, Any]:
    """Return the arguments in a cell, which must be a JSON object or empty."""
    try:
        decoded = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        decoded = None
    if not isinstance(decoded, dict):
        raise FieldError("args", text, "args is not a JSON object")
    return decoded


def label(cell: Any, field: str) -> str:
    """Return a cell as text: 16, 16.0 and "16" are equal.

    Example:
        >>> label(" main ", "branch"), label(16.0, "args.threads"), label({"b": 1}, "args")
        ('main', '16', '{"b": 1}')
    """
    if cell is None:
        return ""
    if isinstance(cell, str):
        text = cell.strip()
        if not text.isascii():
            if REPLACED in text:
                raise FieldError(field, cell, "not valid text")
            try:
                text.encode()
            except UnicodeEncodeError:
                raise FieldError(field, cell, "not valid text") from None
        return text
    if isinstance(cell, (dict, list)):
        return json.dumps(cell, sort_keys=True)
    return canonical_text(cell)
