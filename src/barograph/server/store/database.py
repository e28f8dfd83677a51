"""Open the database, an SQLite file or PostgreSQL; read and write many rows."""

import sqlite3
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import SQLAlchemyError

from barograph.runtime.errors import ConfigError, StoreError
from barograph.runtime.extras import needed
from barograph.server.store.schema import state
from barograph.server.store.sqlite_file import MODE, SQLiteFile, missing_right

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

Row = tuple[object, ...]
Item = TypeVar("Item")

BUSY_MS = 15_000  # how long a writer waits for another process that writes
PAGE = 2048  # bytes; a commit rewrites whole pages, so small ones cost less
CACHE = 16_384  # KiB for each connection; the operating system caches the rest
LOG_PAGES = 1000
LOG_KEPT = 64 << 20  # bytes; a larger log file is truncated
RETRY_AFTER = 0.01  # seconds, where SQLite does not wait by itself
CHUNK = 500  # values in one condition
KINDS = ("sqlite", "postgresql")
REVISION = sa.select(state.c.revision)
PLAIN = {  # what SQLite's errors mean
    sqlite3.SQLITE_NOTADB: "not an SQLite database",
    sqlite3.SQLITE_FULL: "no space left on the device",
    sqlite3.SQLITE_IOERR_SHMSIZE: "no space left on the device",  # not even to open the store
}


def connect(url: str, log: int = LOG_PAGES, mode: int = MODE) -> sa.Engine:
    """Return the engine for a database.

    Args:
        url: URL, or path of an SQLite file.
        log: Number of pages in SQLite's log from which a commit writes them to the database file.
        mode: Permissions of a new SQLite file.
    """
    try:
        address = sa.make_url(url if "://" in url else f"sqlite:///{url}")
    except SQLAlchemyError:
        raise ConfigError("the store's URL is invalid; give a path or a URL") from None
    kind = address.get_backend_name()
    if kind not in KINDS:
        raise ConfigError(f"the store cannot be kept in {kind!r}; allowed: {', '.join(KINDS)}")
    if kind == "postgresql":
        return _postgresql(address.set(drivername="postgresql+psycopg"))
    if address.database in (None, "", ":memory:"):
        raise ConfigError("an SQLite store needs a file; a database in memory would be lost")
    if Path(address.database).is_dir():
        raise ConfigError(f"{address.database}: is a directory; an SQLite store needs a file")
    file = SQLiteFile(Path(address.database), mode, BUSY_MS / 1000)
    # The last in is the first out: a connection has a cache, which another that writes empties.
    pool = {"pool_size": 8, "max_overflow": -1, "pool_use_lifo": True}
    engine = sa.create_engine(address, execution_options={"file": file}, **pool)
    sa.event.listen(engine, "do_connect", lambda *_: file.prepare())
    sa.event.listen(engine, "connect", partial(_configure_sqlite, log))
    sa.event.listen(engine, "connect", lambda *_: file.opened())
    sa.event.listen(engine, "begin", partial(_begin, file))
    return engine


def _postgresql(address: sa.URL) -> sa.Engine:
    with needed("a PostgreSQL store"):
        engine = sa.create_engine(address, pool_size=8, max_overflow=24, pool_pre_ping=True)
    sa.event.listen(engine, "connect", _configure_postgresql)
    return engine


def _configure_postgresql(connection: Any, _record: object) -> None:
    """Set a lock timeout and synchronous commit, like `_configure_sqlite`."""
    connection.execute(f"SET lock_timeout = {BUSY_MS}")
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false)"
        " WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.commit()


def _configure_sqlite(log: int, connection: Any, _record: object) -> None:
    """Set WAL with full sync: without it a power cut may lose acknowledged commits."""
    connection.isolation_level = None  # `_begin` starts transactions
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    cursor.execute(f"PRAGMA page_size = {PAGE}")  # of a new database
    _enable_wal(cursor)
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute(f"PRAGMA wal_autocheckpoint = {log}")
    cursor.execute(f"PRAGMA journal_size_limit = {LOG_KEPT}")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute(f"PRAGMA cache_size = -{CACHE}")
    cursor.close()


def _enable_wal(cursor: sqlite3.Cursor) -> None:
    """Switch to WAL; SQLite does not wait if several processes create the same database."""
    until = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(RETRY_AFTER)
        else:
            return


def _begin(file: SQLiteFile, connection: sa.Connection) -> None:
    # A writer takes the lock at once: a transaction that has read cannot wait for it later.
    mode = connection.get_execution_options().get("begin", "DEFERRED")
    if mode == "IMMEDIATE" and file.begin(_driver(connection)):
        return
    connection.exec_driver_sql(f"BEGIN {mode}")


def _driver(connection: sa.Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)  # noqa: S101 - the connection is open
    return driver


def _check_file(
    connection: sa.Connection, check: Callable[[SQLiteFile], None] = SQLiteFile.check
) -> None:
    """Check that an SQLite file is still at its path, or something else about it."""
    file: SQLiteFile | None = connection.get_execution_options().get("file")
    if file is not None:
        check(file)


def check_space(connection: sa.Connection) -> None:
    """Check that the disk of an SQLite file has room for a transaction."""
    _check_file(connection, SQLiteFile.check_space)


@contextmanager
def _guarded(engine: sa.Engine) -> Iterator[None]:
    """Convert database errors to a StoreError of one line, without the SQL statement."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        cause = getattr(error, "orig", None) or error
        code = getattr(cause, "sqlite_errorcode", 0)
        text = PLAIN.get(code) or PLAIN.get(code & 0xFF)
        is_file = engine.dialect.name == "sqlite"
        if is_file and code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            text = missing_right(engine.url.database or "")
        text = text or " ".join(str(cause).split())[:300]
        raise StoreError(
            f"{engine.url.database if is_file else 'the store failed'}: {text}"
        ) from error


@contextmanager
def writing(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Open a writing transaction."""
    with _guarded(engine), engine.connect().execution_options(begin="IMMEDIATE") as connection:
        try:
            with connection.begin():
                yield connection
            _check_file(connection)  # else what was just committed is lost
        except SQLAlchemyError:
            connection.invalidate()  # do not reuse a connection after an I/O error
            raise


def write_back(engine: sa.Engine) -> None:
    """Write SQLite's log to the database file, as far as no reader or writer must wait."""
    if engine.dialect.name != "sqlite":
        return
    with _guarded(engine), engine.connect() as connection:
        # SQLAlchemy would start a transaction, in which SQLite refuses this.
        _driver(connection).execute("PRAGMA wal_checkpoint(PASSIVE)").close()


@contextmanager
def reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Open a reading transaction: all queries in it see the same state."""
    # By default each statement sees a new state on PostgreSQL; SQLite has BEGIN DEFERRED.
    level = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with (
        _guarded(engine),
        engine.connect().execution_options(**level) as connection,
        connection.begin(),
    ):
        _check_file(connection)
        yield connection


def revision(connection: sa.Connection) -> str:
    """Return a name of the state of the store that changes with it.

    It is random, so that no two states of any stores share one, and part of the database, so that
    a reader notices what other processes wrote. Only ingest leaves it as it is, unless a series
    gets a direction or a unit: points, decisions and their commits may differ under one revision.

    Args:
        connection: From `Store.read`.
    """
    name: str = connection.execute(REVISION).scalar_one()
    return name


def renew_revision(connection: sa.Connection) -> None:
    """Give the store a new revision, in the transaction that changes it."""
    connection.execute(sa.update(state).values(revision=uuid.uuid4().hex))


def chunks(values: Sequence[Item], size: int = CHUNK) -> Iterator[list[Item]]:
    """Yield values in parts: databases limit the number of parameters, and writers wait."""
    return (list(values[first : first + size]) for first in range(0, len(values), size))


def rows_in(
    connection: sa.Connection, query: sa.Select[Any], column: sa.Column[Any], values: Sequence[Any]
) -> Iterator[Any]:
    """Yield the rows of a query whose column has one of the values, one chunk after the other."""
    for part in chunks(values):
        yield from connection.execute(query.where(column.in_(part)))


def count_rows(connection: sa.Connection, table: sa.Table, *where: sa.ColumnElement[bool]) -> int:
    """Return the number of rows of a table that meet all conditions."""
    query = sa.select(sa.func.count()).select_from(table).where(*where)
    return connection.execute(query).scalar_one()


def insert(connection: sa.Connection, table: sa.Table) -> "sqlite.Insert | postgresql.Insert":
    """Return an INSERT with support for ON CONFLICT, in the dialect of the connection."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql  # takes a tenth of a second to import

        return postgresql.insert(table)
    return sqlite.insert(table)


class _ManyRows(ABC):
    """One statement for many rows, each with a value for each name.

    It is compiled once, and the rows go straight to the driver: SQLAlchemy's own handling of
    parameters costs more per row than SQLite does.
    """

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
