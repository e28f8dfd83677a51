"""Write many rows fast: the statement is compiled once, and the rows go straight to the driver.

SQLAlchemy's own handling of parameters costs more per row than SQLite does.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from barograph.store.database import insert

Row = tuple[object, ...]


class _ManyRows(ABC):
    """One statement for many rows, each with a value for each name."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._compiled: dict[str, tuple[str, tuple[str, ...] | None]] = {}

    @abstractmethod
    def _build(self, connection: sa.Connection) -> sa.UpdateBase:
        """Return the statement, with a parameter for each name."""

    def into(self, connection: sa.Connection, rows: list[Row]) -> None:
        """Write the rows."""
        if not rows:
            return
        text, order = self._statement(connection)
        if order is None:
            named = [dict(zip(self.names, row, strict=True)) for row in rows]
            connection.exec_driver_sql(text, named)
        elif order == self.names:
            connection.exec_driver_sql(text, rows)
        else:  # the statement has the columns in the order of the table
            pick = itemgetter(*map(self.names.index, order))
            connection.exec_driver_sql(text, [pick(row) for row in rows])

    def _statement(self, connection: sa.Connection) -> tuple[str, tuple[str, ...] | None]:
        """Return the text for a dialect, and the order of its parameters if they are positional."""
        dialect = connection.dialect
        if dialect.name not in self._compiled:
            compiled = self._build(connection).compile(dialect=dialect)
            order = getattr(compiled, "positiontup", None)
            self._compiled[dialect.name] = (str(compiled), None if order is None else tuple(order))
        return self._compiled[dialect.name]


class Insertion(_ManyRows):
    """An INSERT of some columns of a table.

    Args:
        table: Table to insert into.
        names: The columns, in the order of the values of each row.
        replace: The columns to overwrite if the key exists.
        keep: Whether to skip a row whose key exists.
    """

    def __init__(
        self,
        table: sa.Table,
        names: Sequence[str],
        *,
        replace: Iterable[str] = (),
        keep: bool = False,
    ) -> None:
        super().__init__(names)
        self._table = table
        self._replace = tuple(replace)
        self._keep = keep

    def _build(self, connection: sa.Connection) -> sa.UpdateBase:
        statement = insert(connection, self._table)
        if self._replace:
            keys = [column.name for column in self._table.primary_key]
            new = {name: statement.excluded[name] for name in self._replace}
            statement = statement.on_conflict_do_update(index_elements=keys, set_=new)
        elif self._keep:
            statement = statement.on_conflict_do_nothing()
        return statement.values({name: sa.bindparam(name) for name in self.names})


class BulkUpdate(_ManyRows):
    """An UPDATE of some columns of existing rows.

    Args:
        table: Table to update.
        keys: The columns that identify a row.
        names: The columns to overwrite; each row has the values of the keys, then of these.
    """

    def __init__(self, table: sa.Table, keys: Sequence[str], names: Sequence[str]) -> None:
        super().__init__([*(f"at_{key}" for key in keys), *names])
        self._table = table
        self._keys, self._columns = tuple(keys), tuple(names)

    def _build(self, connection: sa.Connection) -> sa.UpdateBase:  # noqa: ARG002 - one signature
        same = [self._table.c[key] == sa.bindparam(f"at_{key}") for key in self._keys]
        new: dict[str, Any] = {name: sa.bindparam(name) for name in self._columns}
        return sa.update(self._table).where(*same).values(new)
