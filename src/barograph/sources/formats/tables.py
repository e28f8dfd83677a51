"""Tables of results: CSV, TSV, JSON records, JSON lines and Parquet, long or wide.

A long table has a value in each row, a wide one a column for each metric. Columns are known by
their names or by what the user says; `roles` has the names.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from barograph.results.fields import FieldError, stated_direction
from barograph.results.repeats import NO_ORDER, Results
from barograph.results.series import (
    LABELS,
    UNKNOWN_TIME,
    Direction,
    Ints,
    SeriesId,
    normalize_args,
)
from barograph.results.texts import Texts
from barograph.sources.formats.base import Format, InputFile, Note
from barograph.sources.formats.cells import (
    Faults,
    converted,
    decoded_args,
    is_missing,
    is_number,
    label,
    measurements,
    orders,
)
from barograph.sources.formats.dates import cell_time, day_order
from barograph.sources.formats.delimited import DELIMITERS, TableRows
from barograph.sources.formats.roles import KNOWN, SYNONYMS, Roles, assign_roles, canonical
from barograph.sources.formats.rows import PARQUET, entries_of, read_table
from barograph.sources.report import Skip

Kind = tuple[SeriesId, Direction]


def matches(file: InputFile) -> bool:
    """Return whether a file looks like rows and columns."""
    content = file.content or b""
    if content[:4] == PARQUET:
        return True
    if file.is_json:
        rows = entries_of(file.json())
        if len(rows) == 1 and isinstance(rows[0], dict) and _is_nested(rows[0]):
            return False  # a document: the numbers around its results are no results
        keys = {canonical(place.rpartition("/")[2]) for place in file.places if _is_cell(place)}
        return bool(keys & KNOWN) and bool(keys - set(SYNONYMS["test"]))
    return file.fault is None and "\0" not in file.head and _is_table(file.head)


def _is_nested(value: Any, level: int = 0) -> bool:
    """Return whether a row holds more than numbers, texts and objects of them."""
    if isinstance(value, dict):
        return level > 1 or any(_is_nested(inner, level + 1) for inner in value.values())
    return isinstance(value, list) and any(isinstance(entry, dict) for entry in value)


def _is_cell(place: str) -> bool:
    """Return whether a place in JSON is a key of a row."""
    parts = place.split("/")[1:]
    return parts[:-1] in ([], ["*"], ["points", "*"]) and bool(parts) and parts[-1] != "*"


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
    first, *second = (row.strip() for row in rows)  # a table of one column
    return canonical(first) in SYNONYMS["value"] or any(map(is_number, (first, *second)))


def read(file: InputFile) -> Iterator[Results | Note | Skip]:
    """Yield the results of a table."""
    table = read_table(file)
    if table.rows:
        yield from read_roles(file, table, assign_roles(table.cells, file.options, file.name))
    else:
        yield from table.skips


def read_roles(
    file: InputFile, table: TableRows, roles: Roles, name: str = ""
) -> Iterator[Results | Note | Skip]:
    """Yield the results of a table whose columns are known.

    Args:
        file: The file.
        table: Its cells.
        roles: What its columns are.
        name: The test, if no column says it. Defaults to the name of the file.
    """
    count = len(table.rows)
    none: Sequence[Any] = (None,) * count
    columns = {**roles.fields, **roles.identity}
    cells = {role: table.cells.get(column, none) for role, column in columns.items()}
    faults: Faults = {}
    kinds, kind_of = _kinds(roles, cells, count, name or _stem(file.path), faults)
    texts = {
        role: Texts.from_strings(_labels(cells.get(role, none), columns.get(role, role), faults))
        for role in ("commit", "run", "branch", "unit")
    }
    # Columns that repeat one number take no memory.
    places: Ints = np.broadcast_to(np.int64(NO_ORDER), count)
    times: Ints = np.broadcast_to(np.int64(UNKNOWN_TIME), count)
    if "order" in cells:
        places, unusable = orders(cells["order"], columns["order"])
        faults = unusable | faults
    notes = list(roles.notes)
    if "time" in cells:
        times = _times(file, cells["time"], columns["time"], faults, notes)
    yield from map(Note, notes)
    yield from table.skips
    values, units, skips = _values(file, table, roles, faults)
    yield from skips
    sound = np.isfinite(values)
    sound[[*faults]] = False
    rows, owners = np.nonzero(sound)  # row by row: the rows of a history may have no other order
    yield Results.of(
        [_measured(kind, value.measurement) for kind, _ in kinds for value in roles.values],
        [int(way) for _, way in kinds for _ in roles.values],
        kind_of[rows] * len(roles.values) + owners,
        values[sound],
        rows=np.array(table.rows, dtype=np.int64)[rows] - table.rows[0],
        orders=places[rows] if "order" in cells else np.broadcast_to(places[:1], rows.size),
        times=times[rows] if "time" in cells else np.broadcast_to(times[:1], rows.size),
        commits=texts["commit"][rows],
        runs=texts["run"][rows],
        branches=texts["branch"][rows],
        units=_units(texts["unit"], [value.unit for value in roles.values], units, rows, owners),
    )
    for row, fault in sorted(faults.items()):
        yield _skip(file, table, row, fault)


def _skip(file: InputFile, table: TableRows, row: int, fault: FieldError) -> Skip:
    return Skip(table.place(file, row), fault.field, fault.value, fault.reason, "points")


def _labels(cells: Sequence[Any], column: str, faults: Faults) -> list[str]:
    return converted(cells, lambda cell: label(cell, column), "", faults)


def _times(
    file: InputFile, cells: Sequence[Any], column: str, faults: Faults, notes: list[str]
) -> Ints:
    """Return the times of rows; note where day and month of dates were guessed."""
    order, note = file.options.dates, ""
    if not order:
        order, note = day_order(cells, f"{file.name}: {column}")
    notes += [note] if note else []

    def read_time(cell: Any) -> int:
        return UNKNOWN_TIME if is_missing(cell) else cell_time(cell, column, order)

    times = converted(cells, read_time, UNKNOWN_TIME, faults)
    return np.array(times, dtype=np.int64)


def _values(
    file: InputFile, table: TableRows, roles: Roles, faults: Faults
) -> tuple[np.ndarray, list[list[str]], list[Skip]]:
    """Convert the columns of values, and remove them from the table.

    Only a semicolon as the delimiter leaves the comma to be the decimal sign.

    Returns:
        The values of each row, the units in the cells of each column, and faulty cells.
    """
    used = [table.cells[value.column] for value in roles.values]
    has_comma = table.delimiter == ";" and any("," in str(cell) for cells in used for cell in cells)
    values = np.empty((len(table.rows), len(used)))
    units, skips = [], []
    for k, (value, cells) in enumerate(zip(roles.values, used, strict=True)):
        values[:, k], of_cells, unusable = measurements(
            cells, value.column, "," if has_comma else "."
        )
        units.append(of_cells)
        skips += [
            _skip(file, table, row, fault)
            for row, fault in unusable.items()
            # An empty cell of a wide table is no result.
            if row not in faults and not (roles.is_wide and is_missing(cells[row]))
        ]
    for value in roles.values:  # the cells take more memory than the results
        table.cells.pop(value.column, None)
    return values, units, skips


def _units(
    of_rows: Texts,
    of_columns: Sequence[str],
    of_cells: Sequence[Sequence[str]],
    rows: Ints,
    columns: Ints,
) -> Texts:
    """Return the units of results: that of the cell, else of its row, else of its column."""
    if not any(of_columns) and not any(of_cells):
        return of_rows[rows]
    places = zip(of_rows[rows], rows.tolist(), columns.tolist(), strict=True)
    return Texts.from_strings(
        (of_cells[column] and of_cells[column][row]) or unit or of_columns[column]
        for unit, row, column in places
    )


def _kinds(
    roles: Roles, cells: Mapping[str, Sequence[Any]], count: int, name: str, faults: Faults
) -> tuple[list[Kind], Ints]:
    """Return the distinct identities and directions of rows, and the number of that of each row."""
    parts = [*roles.identity, *({"direction"} & cells.keys())]
    columns = {**roles.fields, **roles.identity}
    labels = [_labels(cells[part], columns[part], faults) for part in parts]
    keys = list(zip(*labels, strict=True)) or [()] * count
    known: dict[tuple[str, ...], int] = {}
    kinds: list[Kind] = []
    kind_of = []
    for row, key in enumerate(keys):
        number = known.get(key)
        if number is None:
            try:
                kind = _kind(roles, dict(zip(parts, key, strict=True)), name)
            except FieldError as fault:
                faults.setdefault(row, fault)
                number = 0
            else:
                number = known[key] = len(kinds)
                kinds.append(kind)
        kind_of.append(number)
    return kinds, np.array(kind_of, dtype=np.int64)


def _kind(roles: Roles, row: Mapping[str, str], name: str) -> Kind:
    """Return the identity and the direction of a row."""
    labels = {part: row.get(part, "") for part in LABELS}
    if not roles.identity:
        labels["test"] = name
    more = {part[5:]: value for part, value in row.items() if part[:5] == "args." and value}
    args = normalize_args({**decoded_args(row.get("args", "")), **more})
    if not any(labels.values()) and not roles.is_wide:
        raise FieldError("test", "", "no identity")
    column = roles.fields.get("direction", "direction")
    return SeriesId(**labels, args=args), stated_direction(row.get("direction", ""), column)


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
