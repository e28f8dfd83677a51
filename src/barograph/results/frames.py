"""The results of a data frame as columns: checked strictly, because nothing may be skipped.

The columns are those of a results file: `order` and `value`; optionally `commit`, `time`, `run`,
`direction`, `unit`, `branch`, and those that name a series. Rows may be in any order. A frame of
pandas or Polars, or a table of Arrow: anything with named columns that NumPy can read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from barograph.results.fields import (
    FieldError,
    args_of,
    order_of,
    stated_direction,
    text_of,
    time_of,
    value_of,
)
from barograph.results.repeats import Results
from barograph.results.series import LABELS, SeriesId, is_na
from barograph.results.texts import Texts
from barograph.results.units import direction_of_measurement
from barograph.runtime.errors import DataError

REQUIRED = ("order", "value")
OPTIONAL = ("commit", "time", "run", "direction", "unit", "branch", *LABELS, "args")
ARGUMENT = "args."  # and the name of an argument


def read_frame(frame: Any, name: str) -> Results:
    """Return the results of a frame.

    Args:
        frame: The results.
        name: The name of the series if no column names it.

    Raises:
        DataError: Columns are missing or unknown, there are no rows, or a value cannot be used.
    """
    cells = {column: _cells(frame, column) for column in _checked_columns(frame)}
    branches = list(dict.fromkeys(cells.get("branch", ())))
    if len(branches) > 1:
        raise DataError(
            f"frame['branch'] holds {branches[0]!r} and {branches[1]!r:.60}; pass the rows of one "
            "branch, or use barograph.read, which judges a branch after the history of its base"
        )
    numbers: dict[SeriesId, int] = {}
    facts: list[dict[str, Any]] = []
    owners = []
    known: dict[tuple[Any, ...], int] = {}  # the series of each distinct row
    naming = [column for column in cells if column in (*LABELS, "args") or _is_arg(column)]
    chosen = [*naming, *(column for column in ("unit", "direction") if column in cells)]
    rows = zip(*(cells[column] for column in chosen), strict=True) if chosen else [()] * len(frame)
    for row, described in enumerate(rows):
        if described not in known:
            stated = dict(zip(chosen, described, strict=True))
            series = _identity(stated, row) if naming else SeriesId("", "", "", name, "")
            known[described] = number = numbers.setdefault(series, len(numbers))
            facts += [{}] if number == len(facts) else []
            _describe(series, stated, facts[number], row)
        owners.append(known[described])
    if "direction" not in cells:
        for series, fact in zip(numbers, facts, strict=True):
            fact["direction"] = direction_of_measurement(series.measurement, fact.get("unit", ""))
    directions = [int(fact.get("direction", 0)) for fact in facts]
    units = [facts[owner].get("unit", "") for owner in owners]
    texts = {"commits": cells.get("commit"), "runs": cells.get("run"), "units": units}
    columns: dict[str, Any] = {
        key: Texts.from_strings(column) for key, column in texts.items() if column
    }
    columns |= {f"{key}s": cells[key] for key in ("order", "time") if key in cells}
    return Results.of(list(numbers), directions, owners, cells["value"], **columns)


def _checked_columns(frame: Any) -> list[str]:
    names = getattr(frame, "column_names", getattr(frame, "columns", None))
    if names is None:
        raise DataError(f"frame is {type(frame).__name__}; it must be a data frame")
    columns = list(names)
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        raise DataError(f"frame misses the columns {missing}; has {columns}")
    unknown = [name for name in columns if name not in REQUIRED + OPTIONAL and not _is_arg(name)]
    if unknown:
        known = [*REQUIRED, *OPTIONAL, f"{ARGUMENT}NAME"]
        raise DataError(f"frame has the unknown columns {unknown}; known are {known}")
    if len(set(columns)) < len(columns):
        raise DataError(f"frame has several columns of the same name: {columns}")
    if not len(frame):
        raise DataError("frame has no rows")
    return columns


def _is_arg(column: object) -> bool:
    return isinstance(column, str) and column.startswith(ARGUMENT) and column != ARGUMENT


def _cells(frame: Any, column: str) -> list[Any]:
    """Read the cells of a column."""
    cells = np.asarray(frame[column])
    if cells.dtype.kind == "M":
        cells = cells.astype("datetime64[ms]")
    read: Callable[[Any, str], Any] = READ.get(column, _text)
    read_cells = []
    for row, cell in enumerate(cells.tolist()):
        # NaN is a missing cell of any column, but no value.
        is_missing = is_na(cell) or (column != "value" and cell != cell)
        try:
            read_cells.append(read(None if is_missing else cell, column))
        except FieldError as fault:
            raise _refused(column, row, cell, fault.reason) from fault
    return read_cells


def _refused(column: str, row: int, cell: object, reason: str) -> DataError:
    return DataError(f"frame[{column!r}][{row}] is {cell!r:.60}: {reason}")


def _order(cell: Any, column: str) -> int:
    order = order_of(cell, column)
    if order is None:
        raise FieldError(column, cell, "order is missing")
    return order


def _text(cell: Any, column: str) -> str:
    return text_of(cell, column).strip()


# How the cells of a column are read that are no text.
READ: dict[str, Callable[[Any, str], Any]] = {
    "order": _order,
    "value": value_of,
    "time": time_of,
    "args": args_of,
    "direction": lambda cell, column: int(stated_direction(cell, column)),
}


def _identity(fields: Mapping[str, Any], row: int) -> SeriesId:
    labels = {label: fields.get(label, "") for label in LABELS}
    if not any(labels.values()):
        raise DataError(f"row {row} of the frame names no series in the columns {LABELS}")
    named = {name[len(ARGUMENT) :]: text for name, text in fields.items() if _is_arg(name) and text}
    return SeriesId(**labels, args=tuple({**dict(fields.get("args", ())), **named}.items()))


def _describe(series: SeriesId, stated: Mapping[str, Any], known: dict[str, Any], row: int) -> None:
    """Note the unit and the direction of a series, which no two rows may contradict."""
    for column in ("unit", "direction"):
        fact = stated.get(column)
        if fact and known.setdefault(column, fact) != fact:
            earlier = f"earlier rows of the series {series} have {known[column]!r:.40}"
            raise _refused(column, row, fact, earlier)
