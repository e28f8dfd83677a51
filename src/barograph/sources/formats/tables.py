"""Tables of results: CSV, TSV, JSON records, JSON lines and Parquet, long or wide.

A long table has a value in each row, a wide one a column for each metric. Columns are known by
their names or by what the user says; `roles` has the names.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from barograph.results.fields import FieldError, args_of, stated_direction
from barograph.results.repeats import NO_ORDER, Results
from barograph.results.series import (
    LABELS,
    UNKNOWN_TIME,
    Direction,
    Floats,
    Ints,
    SeriesId,
    normalize_args,
)
from barograph.results.texts import Texts
from barograph.sources.formats.base import Format, InputFile
from barograph.sources.formats.cells import (
    Faults,
    converted,
    is_missing,
    is_number,
    label,
    measured,
    order_in,
    plain_numbers,
)
from barograph.sources.formats.dates import day_order, time_ms
from barograph.sources.formats.roles import KNOWN, SYNONYMS, Roles, assign_roles, canonical
from barograph.sources.formats.rows import (
    DELIMITERS,
    PARQUET,
    TableRows,
    entries_of,
    read_table,
)
from barograph.sources.report import Skip

Kind = tuple[SeriesId, Direction]
FEW = 100  # rows whose keys are looked at
# The columns of texts by their fields.
TEXTS = {
    "commit": "commits",
    "run": "runs",
    "branch": "branches",
    "unit": "units",
    "cpu": "cpus",
}


def matches(file: InputFile) -> bool:
    """Return whether a file looks like rows and columns."""
    if (file.content or b"")[:4] == PARQUET:
        return True
    if file.is_json:
        rows = [row for row in entries_of(file.json())[:FEW] if isinstance(row, dict)]
        if len(rows) == 1 and _is_nested(rows[0]):
            return False  # a document: the numbers around its results are no results
        keys = {canonical(key) for row in rows for key in row}
        return bool(keys & KNOWN) and bool(keys - set(SYNONYMS["test"]))
    return file.fault is None and "\0" not in file.head and _is_table(file.head)


def _is_nested(value: Any, level: int = 0) -> bool:
    """Return whether a row holds more than numbers, texts and objects of them."""
    if isinstance(value, dict):
        return level > 1 or any(_is_nested(inner, level + 1) for inner in value.values())
    return isinstance(value, list) and any(isinstance(entry, dict) for entry in value)


def _is_table(head: str) -> bool:
    lines = (line.strip("\r\n") for line in head.splitlines())
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith("#")][:2]
    if not rows:
        return False
    for delimiter in DELIMITERS:
        header, *others = csv.reader(rows, delimiter=delimiter, skipinitialspace=True)
        if len(header) > 1 and (
            not KNOWN.isdisjoint(map(canonical, header))
            or any(len(row) == len(header) and any(map(is_number, row)) for row in others)
        ):
            return True
    # A table of one column.
    return canonical(rows[0].strip()) in SYNONYMS["value"] or any(map(is_number, rows))


def read(file: InputFile) -> Iterator[Results | str | Skip]:
    """Yield the results of a table."""
    table = read_table(file)
    if table.rows:
        yield from read_roles(file, table, assign_roles(table.cells, file.options, file.name))
    else:
        yield from table.skips


def read_roles(
    file: InputFile, table: TableRows, roles: Roles, name: str = ""
) -> Iterator[Results | str | Skip]:
    """Yield the results of a table whose columns are known.

    Args:
        file: The file.
        table: Its cells.
        roles: What its columns are.
        name: The test, if no column says it. Defaults to the name of the file.
    """
    faults: Faults = {}

    def column(field: str, read: Callable[[Any, str], Any], missing: Any) -> list[Any] | None:
        """Return the cells of a field as they are read; None if no column holds it."""
        if field not in roles.fields:
            return None
        title = roles.fields[field]
        return converted(table.cells[title], lambda cell: read(cell, title), missing, faults)

    naming = [name for name in roles.fields if name in roles.identity or name == "direction"]
    labels = [column(part, label, "") or [] for part in naming]
    keys = list(zip(*labels, strict=True)) or [()] * len(table.rows)
    kinds, kind_of = _kinds(roles, naming, keys, name or _stem(file.path), faults)
    texts = {f: cells for f in TEXTS if (cells := column(f, label, "")) is not None}
    orders = column("order", order_in, NO_ORDER)
    order, note = _day_order(file, table, roles)
    times = column("time", lambda cell, title: _time(cell, title, order), UNKNOWN_TIME)
    yield from filter(None, (*roles.notes, note))
    yield from table.skips
    values, units, unusable = _values(table, roles, faults)
    yield from (_skip(file, table, *each) for each in unusable)
    sound = np.isfinite(values)
    sound[[*faults]] = False
    rows, owners = np.nonzero(sound)  # row by row: the rows of a history may have no other order
    numbers = {"orders": orders, "times": times, "rows": [n - table.rows[0] for n in table.rows]}
    columns: dict[str, Any] = {
        name: np.array(cells, dtype=np.int64)[rows] for name, cells in numbers.items() if cells
    }
    of_rows = {TEXTS[field]: Texts.from_strings(cells)[rows] for field, cells in texts.items()}
    if any(units) or any(value.unit for value in roles.values):
        of_row = of_rows.get("units", [""] * rows.size)
        places = zip(of_row, rows.tolist(), owners.tolist(), strict=True)
        of_rows["units"] = Texts.from_strings(
            (units[k] and units[k][row]) or unit or roles.values[k].unit for unit, row, k in places
        )
    yield Results.of(
        [_measured(kind, value.measurement) for kind, _ in kinds for value in roles.values],
        [int(way) for _, way in kinds for _ in roles.values],
        kind_of[rows] * len(roles.values) + owners,
        values[sound],
        **(columns | of_rows),
    )
    yield from (_skip(file, table, row, fault) for row, fault in sorted(faults.items()))


def _skip(file: InputFile, table: TableRows, row: int, fault: FieldError) -> Skip:
    return Skip(table.place(file, row), fault.field, fault.value, fault.reason, "points")


def _day_order(file: InputFile, table: TableRows, roles: Roles) -> tuple[str, str]:
    """Return the order of day and month in dates, and a note if it was guessed."""
    title = roles.fields.get("time")
    if file.options.dates or title is None:
        return file.options.dates, ""
    return day_order(table.cells[title], f"{file.name}: {title}")


def _time(cell: Any, title: str, order: str) -> int:
    return UNKNOWN_TIME if is_missing(cell) else time_ms(cell, title, order)


def _values(
    table: TableRows, roles: Roles, faults: Faults
) -> tuple[Floats, list[list[str]], list[tuple[int, FieldError]]]:
    """Convert the columns of values, and remove all cells from the table.

    Only a semicolon as the delimiter leaves the comma to be the decimal sign.

    Returns:
        The values of each row, the units in the cells of each column, and faulty cells by row.
    """
    is_wide = all(value.measurement for value in roles.values)
    used = [table.cells[value.column] for value in roles.values]
    has_comma = table.delimiter == ";" and any("," in str(cell) for cells in used for cell in cells)
    values = np.empty((len(table.rows), len(used)))
    units, unusable = [], []
    for k, cells in enumerate(used):
        title = roles.values[k].column
        values[:, k], of_cells, found = _measurements(cells, title, "," if has_comma else ".")
        units.append(of_cells)
        for row, fault in found.items():
            # An empty cell of a wide table is no result.
            if row not in faults and not (is_wide and is_missing(cells[row])):
                unusable.append((row, fault))
    table.cells.clear()  # they take more memory than the results
    return values, units, unusable


def _measurements(
    cells: Sequence[Any], title: str, decimal: str
) -> tuple[Floats, list[str], Faults]:
    """Return finite numbers, their units, and faulty cells; no units if no cell has one."""
    faults: Faults = {}
    values = None if decimal == "," else plain_numbers(cells)
    if values is not None:
        for row in np.flatnonzero(np.isnan(values)).tolist():
            faults[row] = FieldError(title, cells[row], "value is missing")
        return values, [], faults
    pairs = converted(cells, lambda cell: measured(cell, title, decimal), (np.nan, ""), faults)
    units = [unit for _, unit in pairs]
    return np.array([value for value, _ in pairs]), units if any(units) else [], faults


def _kinds(
    roles: Roles, parts: Sequence[str], keys: Sequence[tuple[str, ...]], name: str, faults: Faults
) -> tuple[list[Kind], Ints]:
    """Return the distinct identities and directions of rows, and the number of that of each row."""
    known: dict[tuple[str, ...], int] = {}
    kinds: list[Kind] = []
    kind_of = []
    for row, key in enumerate(keys):
        if key not in known:
            try:
                kinds.append(_kind(roles, dict(zip(parts, key, strict=True)), name))
                known[key] = len(kinds) - 1
            except FieldError as fault:
                faults.setdefault(row, fault)
        kind_of.append(known.get(key, 0))
    return kinds, np.array(kind_of, dtype=np.int64)


def _kind(roles: Roles, row: Mapping[str, str], name: str) -> Kind:
    """Return the identity and the direction of a row."""
    labels = {part: row.get(part, "") for part in LABELS}
    if not roles.identity:
        labels["test"] = name
    more = {part[5:]: value for part, value in row.items() if part[:5] == "args." and value}
    args = normalize_args({**dict(args_of(row.get("args"))), **more})
    if not any(labels.values()) and not all(value.measurement for value in roles.values):
        raise FieldError("test", "", "no identity")
    title = roles.fields.get("direction", "direction")
    return SeriesId(**labels, args=args), stated_direction(row.get("direction", ""), title)


def _measured(name: SeriesId, column: str) -> SeriesId:
    """Return the identity of a column of values in rows of a name."""
    return replace(name, measurement=f"{name.measurement} {column}".strip()) if column else name


def _stem(path: Path | None) -> str:
    """Return the name of a series that no column names."""
    if path is None:
        return "stdin"
    name = path.name.encode("utf-8", "replace").decode()
    return name.partition(".")[0] or name


TITLE = "CSV, TSV, JSON records, JSON lines or Parquet: long, or one column for each metric"
FORMAT = Format("tables", TITLE, "history", matches, read)
