"""Open the tables: create those that are missing, and add what older ones lack."""

import json
import uuid
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.schema import CreateColumn

from barograph.results.series import Direction
from barograph.results.sizes import size_of
from barograph.runtime.errors import StoreError
from barograph.server.store.database import reading, writing
from barograph.server.store.schema import candidates, metadata, points, series, state

REMOVED = {"state.writer"}  # columns of older versions

COLUMNS = {
    f"{table.name}.{column.name}": column
    for table in metadata.tables.values()
    for column in table.columns
}
_C, _P = candidates.c, points.c


def open_tables(engine: sa.Engine) -> None:
    """Create the tables of an empty database, or add what those of an older version lack.

    Raises:
        StoreError: The tables are of a newer version, or of another program.
    """
    with reading(engine) as connection:
        if _existing(connection) == COLUMNS.keys():
            return
    with writing(engine) as connection:
        _complete(connection)  # nothing is left to do if another process was faster


def _existing(connection: sa.Connection) -> set[str]:
    """Return the columns that the tables of the schema have in the database."""
    found = sa.inspect(connection).get_multi_columns(filter_names=[*metadata.tables])
    return {f"{key[1]}.{column['name']}" for key, columns in found.items() for column in columns}


def _complete(connection: sa.Connection) -> None:
    """Create the missing tables, and add the missing columns of the others."""
    existing = _existing(connection)
    tables = {name.partition(".")[0] for name in existing}
    lacking = [
        name for name in COLUMNS if name not in existing and COLUMNS[name].table.name in tables
    ]
    wrong = {name for name in lacking if not _has_default(COLUMNS[name])}
    wrong |= existing - COLUMNS.keys() - REMOVED
    if wrong:
        raise StoreError(
            f"the store's tables cannot be brought to this version: {', '.join(sorted(wrong))} "
            "differ; was it used by a newer barograph, or by another program?"
        )
    metadata.create_all(connection)
    if state.name not in tables:
        connection.execute(sa.insert(state), {"id": 1, "revision": uuid.uuid4().hex})
    for name in lacking:
        _add(connection, COLUMNS[name])
    for name in sorted(existing & REMOVED):
        table, _, column = name.partition(".")
        connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
    connection.exec_driver_sql("DROP TABLE IF EXISTS blocks")  # of older versions, a cache
    if "candidates.trend" in lacking:
        _measure_again(connection)
    if "points.place" in lacking:
        _number(connection)


def _has_default(column: sa.Column[Any]) -> bool:
    return column.server_default is not None or bool(column.nullable)


def _add(connection: sa.Connection, column: sa.Column[Any]) -> None:
    table = connection.dialect.identifier_preparer.format_table(column.table)
    definition = CreateColumn(column).compile(dialect=connection.dialect)
    connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {definition}")


def _number(connection: sa.Connection) -> None:
    """Number the commits of every series."""
    number = sa.func.row_number().over(partition_by=_P.series, order_by=_P.order) - 1
    query = sa.select(_P.series, _P.order, number.label("place")).where(_P.settled.is_not(None))
    found = query.subquery()
    same = _P.series == found.c.series, _P.order == found.c.order, _P.settled.is_not(None)
    connection.execute(sa.update(points).where(*same).values(place=found.c.place))


def _measure_again(connection: sa.Connection) -> None:
    """Measure every candidate by the nearest results: once it was by the means of segments."""
    every = sa.select(_C.id, _C.series, _C.order, _C.before, _C.after, series.c.direction)
    every = every.join(series, series.c.id == _C.series).where(_C.before.is_not(None))
    found = connection.execute(every.order_by(_C.series)).all()
    for number, rows in groupby(found, attrgetter("series")):
        query = sa.select(_P.order, _P.settled).where(_P.series == number, _P.settled.is_not(None))
        results = dict(connection.execute(query.order_by(_P.order)).all())
        for row in rows:
            measured = _measured(row, results)
            connection.execute(sa.update(candidates).where(_C.id == row.id).values(**measured))


def _measured(row: Any, results: dict[int, float]) -> dict[str, Any]:
    old, new = json.loads(row.before), json.loads(row.after)
    split, values = np.searchsorted([*results], row.order), np.array([*results.values()])
    before, after = values[:split][-old["count"] :], values[split:][: new["count"]]
    if not before.size or not after.size:  # they were deleted
        before, after = np.array([old["median"]]), np.array([new["median"]])
    size = size_of(before, after)
    sides = {"before": old | {"level": size.before}, "after": new | {"level": size.after}}
    columns = {name: json.dumps(side) for name, side in sides.items()}
    return columns | {"hazard": size.hazard(Direction(row.direction)), "trend": size.is_trend}
