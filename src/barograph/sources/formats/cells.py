"""Convert the cells of a table column; name each cell that cannot be used, with the reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from math import nan
from typing import Any, TypeVar

import numpy as np

from barograph.results.series import Floats, Ints, canonical_text
from barograph.sources.fields import FieldError, order_of
from barograph.sources.formats.base import NO_ORDER
from barograph.sources.formats.numbers import NUMBER, is_missing, measured

Faults = dict[int, FieldError]
T = TypeVar("T")
NO_ORDER_GIVEN = "order is missing"
REPLACED = "\N{REPLACEMENT CHARACTER}"  # of bytes that are not UTF-8
WHOLE = re.compile(r"#?([+-]?\d{1,30})", re.ASCII)  # builds are written "#12", too


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
        try:
            if type(cell) is not str:
                value = read(cell)
            elif cell in known:
                value = known[cell]
            else:
                value = known[cell] = read(cell)
        except FieldError as fault:
            faults.setdefault(row, fault)
            value = missing
        values.append(value)
    return values


def measurements(
    cells: Sequence[Any], field: str, decimal: str
) -> tuple[Floats, list[str], Faults]:
    """Convert to finite numbers and their units; no units if no cell has one.

    Args:
        cells: Text or numbers.
        field: The name of the column.
        decimal: The decimal sign.
    """
    faults: Faults = {}
    values = None if decimal == "," else plain_numbers(cells)
    if values is not None:
        for row in np.flatnonzero(np.isnan(values)).tolist():
            faults[row] = FieldError(field, cells[row], "value is missing")
        return values, [], faults
    pairs = converted(cells, lambda cell: measured(cell, field, decimal), (nan, ""), faults)
    units = [unit for _, unit in pairs]
    return np.array([value for value, _ in pairs]), units if any(units) else [], faults


def plain_numbers(cells: Sequence[Any]) -> Floats | None:
    """Convert to finite numbers all at once, NaN for empty cells; None if any needs more care."""
    try:
        kinds = set(map(type, cells))
        if not kinds <= {int, float, str, type(None)}:
            return None
        if str in kinds and "_" in "".join(filter(_is_text, cells)):  # float() reads 1_000
            return None
        full = [nan if cell is None or cell == "" else cell for cell in cells]
        values = np.fromiter(map(float, full), np.float64, len(cells))
    except (ValueError, OverflowError):
        return None
    return None if np.isinf(values).any() else values


def _is_text(cell: Any) -> bool:
    return type(cell) is str


def orders(cells: Sequence[Any], field: str) -> tuple[Ints, Faults]:
    """Convert to whole numbers; `NO_ORDER` in place of cells that cannot be used."""
    faults: Faults = {}
    values = converted(cells, lambda cell: _order(cell, field), NO_ORDER, faults)
    return np.array(values, dtype=np.int64), faults


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
        try:
            cell.encode()
        except UnicodeEncodeError:
            raise FieldError(field, cell, "not valid text") from None
        return cell.strip()
    if isinstance(cell, (dict, list)):
        return json.dumps(cell, sort_keys=True)
    return canonical_text(cell)
