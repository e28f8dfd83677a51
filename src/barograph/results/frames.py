"""The results of a data frame as columns: checked strictly, because nothing may be skipped.

The columns are those of a results file: `order` and `value`; optionally `commit`, `time`, `run`,
`direction`, `unit`, `branch`, and those that name a series. Rows may be in any order. A frame of
pandas or Polars, or a table of Arrow: anything with named columns that NumPy can read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from barograph.results.repeats import Results
from barograph.results.series import (
    LABELS,
    LARGEST_ORDER,
    ORDER_HINT,
    TIME_RANGE,
    UNKNOWN_TIME,
    Direction,
    Floats,
    Ints,
    SeriesId,
    as_floats,
    canonical_text,
    is_na,
    normalize_args,
    require_finite,
)
from barograph.results.texts import Texts
from barograph.results.units import direction_of_measurement
from barograph.runtime.errors import DataError

REQUIRED = ("order", "value")
OPTIONAL = ("commit", "time", "run", "direction", "unit", "branch", *LABELS, "args")
ARGUMENT = "args."  # and the name of an argument
DIRECTIONS = {direction.name.lower(): int(direction) for direction in Direction}
EPOCH, MILLISECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)


def read_frame(frame: Any, name: str) -> tuple[list[SeriesId], list[int], list[str], Results]:
    """Return the identity, the direction and the unit of each series of a frame, and all results.

    Args:
        frame: The results.
        name: The name of the series if no column names it.

    Raises:
        DataError: Columns are missing or unknown, there are no rows, or a value cannot be used.
    """
    columns = _checked_columns(frame)
    size = len(frame)
    missing = Texts.unknown(size)
    _require_one_branch(frame, columns)
    ids, directions, units, owners = _series(frame, columns, name)
    results = Results(
        owners=owners,
        orders=_orders(frame["order"]),
        times=_times(frame["time"]) if "time" in columns else np.full(size, UNKNOWN_TIME),
        values=_values(frame["value"]),
        commits=_texts(frame["commit"], "commit") if "commit" in columns else missing,
        runs=_texts(frame["run"], "run") if "run" in columns else missing,
    )
    return ids, directions, units, results


def _require_one_branch(frame: Any, columns: list[str]) -> None:
    """Refuse results of several branches: those of another branch are no history of the base."""
    branches = list(dict.fromkeys(_cells(frame["branch"], "branch") if "branch" in columns else ()))
    if len(branches) > 1:
        raise DataError(
            f"frame['branch'] holds {branches[0]!r} and {branches[1]!r:.60}; pass the rows of one "
            "branch, or use barograph.read, which judges a branch after the history of its base"
        )


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


def _series(
    frame: Any, columns: list[str], name: str
) -> tuple[list[SeriesId], list[int], list[str], Ints]:
    """Return identities, directions and units of series, and the number of that of each row.

    Only distinct rows are read: there are few of them.
    """
    naming = [column for column in columns if column in (*LABELS, "args") or _is_arg(column)]
    chosen = [*naming, *(name for name in ("direction", "unit") if name in columns)]
    kinds, codes = _distinct({name: _cells(frame[name], name) for name in chosen}, len(frame))
    numbers: dict[bytes, int] = {}
    ids: list[SeriesId] = []
    directions: list[int] = []
    units: list[str] = []
    owners = np.empty(len(kinds), dtype=np.int64)
    for kind, (row, fields) in enumerate(kinds):
        identity = _identity(fields, row) if naming else SeriesId("", "", "", name, "")
        cell = fields.get("direction")
        unit = fields.get("unit") or ""
        direction = _direction(cell, row)
        number = owners[kind] = numbers.setdefault(identity.digest, len(ids))
        if number == len(ids):
            ids.append(identity)
            directions.append(direction)
            units.append(unit)
        elif unit and units[number] and unit != units[number]:
            raise DataError(
                f"frame['unit'][{row}] is {unit!r:.40}; earlier rows of the series {identity} have "
                f"{units[number]!r:.40}"
            )
        elif direction and directions[number] and direction != directions[number]:
            raise DataError(
                f"frame['direction'][{row}] is {cell!r}; earlier rows of the series {identity} "
                f"have {directions[number]}"
            )
        units[number] = units[number] or unit
        directions[number] = directions[number] or direction
    if "direction" not in columns:
        names = (identity.measurement for identity in ids)
        directions = [
            int(direction_of_measurement(name, unit))
            for name, unit in zip(names, units, strict=True)
        ]
    return ids, directions, units, owners[codes]


def _distinct(
    cells: Mapping[str, list[Any]], size: int
) -> tuple[list[tuple[int, dict[str, Any]]], Ints]:
    """Return the distinct rows by their first row, with its number, and the code of each row."""
    known: dict[tuple[Any, ...], int] = {}
    rows = zip(*cells.values(), strict=True) if cells else [()] * size
    codes = np.array([known.setdefault(row, len(known)) for row in rows], dtype=np.int64)
    firsts = np.unique(codes, return_index=True)[1].tolist()
    kinds = [dict(zip(cells, row, strict=True)) for row in known]
    return list(zip(firsts, kinds, strict=True)), codes


def _identity(fields: Mapping[str, Any], row: int) -> SeriesId:
    labels = {label: fields.get(label) or "" for label in LABELS}
    if not any(labels.values()):
        raise DataError(f"row {row} of the frame names no series in the columns {LABELS}")
    args = fields.get("args")
    try:
        parsed = {} if args is None else json.loads(args)
        if not isinstance(parsed, Mapping):
            raise TypeError
        extra = {name[len(ARGUMENT) :]: value for name, value in fields.items() if _is_arg(name)}
        named = {name: value for name, value in extra.items() if value is not None}
        return SeriesId(**labels, args=normalize_args({**parsed, **named}))
    except (ValueError, TypeError) as error:
        raise DataError(
            f"frame['args'][{row}] is {args!r:.60}; it must be a JSON object"
        ) from error


def _direction(value: object, row: int) -> int:
    if value is None:
        return 0
    if isinstance(value, str) and value in DIRECTIONS:
        return DIRECTIONS[value]
    if not isinstance(value, str | bool) and value in (-1, 0, 1):
        return int(value)
    allowed = ", ".join(["-1, 0, 1", *DIRECTIONS])
    raise DataError(f"frame['direction'][{row}] is {value!r:.40}: allowed are {allowed}")


def _values(column: Any) -> Floats:
    values = as_floats(column, "frame['value']")
    require_finite(values, "frame['value']")
    return values


def _orders(column: Any) -> Ints:
    orders = _whole(column, "order")
    row = int(np.argmax(np.abs(orders)))
    if abs(int(orders[row])) > LARGEST_ORDER:
        raise DataError(f"frame['order'][{row}] is {orders[row]}; {ORDER_HINT}")
    return orders


def _whole(column: Any, name: str) -> Ints:
    """Return whole numbers as integers."""
    numbers = np.asarray(column)
    if numbers.dtype.kind == "i":
        return numbers.astype(np.int64)
    floats = as_floats(numbers, f"frame[{name!r}]")
    wrong = ~((np.floor(floats) == floats) & (np.abs(floats) < 2.0**63))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"frame[{name!r}][{row}] is {floats[row]:.17g}; it must be a whole number")
    return floats.astype(np.int64)


def _times(column: Any) -> Ints:
    """Return milliseconds since 1970 of datetimes, dates, ISO 8601 texts or milliseconds."""
    cells = np.asarray(column)
    if cells.dtype.kind == "M":  # a missing time of NumPy is UNKNOWN_TIME
        times = cells.astype("datetime64[ms]").astype(np.int64)
    elif cells.dtype.kind in "iuf":
        known = ~np.isnan(cells)
        times = np.where(known, _whole(np.where(known, cells, 0), "time"), UNKNOWN_TIME)
    else:
        present = enumerate(map(_present, cells.tolist()))
        times = np.array([_milliseconds(value, row) for row, value in present], dtype=np.int64)
    wrong = (times != UNKNOWN_TIME) & ((times < TIME_RANGE[0]) | (times > TIME_RANGE[1]))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"frame['time'][{row}] is {times[row]}; numbers are milliseconds since 1970, in the "
            "years 1 to 9999"
        )
    return times


def _milliseconds(value: Any, row: int) -> int:
    if value is None:
        return UNKNOWN_TIME
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:  # a date or a time of pandas has an ISO 8601 text, too
        moment = datetime.fromisoformat(value if isinstance(value, str) else value.isoformat())
    except (AttributeError, TypeError, ValueError):
        raise DataError(f"frame['time'][{row}] is {value!r:.40}; it must be a time") from None
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // MILLISECOND


def _texts(column: Any, name: str) -> Texts:
    return Texts.from_strings(_cells(column, name))


def _cells(column: Any, name: str) -> list[Any]:
    """Return the values of a column; all but directions and arguments as text."""
    values = map(_present, np.asarray(column, dtype=object).tolist())
    if name == "direction" or name == "args" or _is_arg(name):
        return [_plain(value) for value in values]
    return [_text(value, name, row) for row, value in enumerate(values)]


def _present(value: Any) -> Any:
    """Return a value, None if it is a missing one such as NaN, NaT or pandas' NA."""
    return None if is_na(value) or value != value else value


def _plain(value: Any) -> Any:
    """Return a value, None for an empty text, JSON for containers."""
    text = json.dumps(value) if isinstance(value, Mapping | list) else value
    return text.strip() or None if isinstance(text, str) else text


def _text(value: object, name: str, row: int) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DataError(f"frame[{name!r}][{row}] is {value!r:.40}; it must be text or a number")
    return canonical_text(value)
