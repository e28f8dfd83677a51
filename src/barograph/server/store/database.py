"""Open the database, an SQLite file or PostgreSQL; read and write many rows."""

import os
import sqlite3
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import SQLAlchemyError

from barograph.runtime.errors import ConfigError, StoreError
from barograph.runtime.extras import needed
from barograph.server.store.schema import COLUMNS, complete, existing_columns, state

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

Row = tuple[object, ...]
Item = TypeVar("Item")

BUSY_MS = 15_000  # how long a writer waits for another process that writes
MODE = 0o600  # of a new SQLite file
SPACE = 1 << 20  # bytes that must be free on the disk of an SQLite file
PAGE = 2048  # bytes; a commit rewrites whole pages, so small ones cost less
SETTINGS = (
    "synchronous = FULL",
    "foreign_keys = ON",
    f"journal_size_limit = {64 << 20}",  # bytes; a larger log file is truncated
    "cache_size = -16384",  # KiB for each connection; the operating system caches the rest
)
RETRY_AFTER = 0.01  # seconds, where SQLite does not wait by itself
CHUNK = 500  # values in one condition
LOCK = 0x6261726F  # of a writing transaction on PostgreSQL
KINDS = ("sqlite", "postgresql")
REVISION = sa.select(state.c.revision)
PLAIN = {  # what SQLite's errors mean
    sqlite3.SQLITE_NOTADB: "not an SQLite database",
    sqlite3.SQLITE_FULL: "no space left on the device",
    sqlite3.SQLITE_IOERR_SHMSIZE: "no space left on the device",  # not even to open the store
}


class SQLiteFile:
    """The database file of an engine, which is created if it is missing.

    Args:
        path: Path of the file.
        mode: Permissions of a new file; SQLite gives its log the same.
    """

    def __init__(self, path: Path, mode: int) -> None:
        self._path = path
        with suppress(OSError):  # it exists, or SQLite reports why it cannot be created
            target = os.path.realpath(path)
            os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))
            Path(target).chmod(mode)  # whatever the umask is
        self._identity = self._current()

    def check(self) -> None:
        """Check that the file at the path is the one that was opened.

        Raises:
            StoreError: It was deleted or replaced. What is written now would be lost.
        """
        identity = self._current()
        if identity != self._identity:
            what = "deleted" if identity is None else "replaced"
            raise StoreError(
                f"the database file {self._path} was {what} while it was open; "
                "put it back, or restore a copy and restart this process"
            )

    def begin(self, connection: sa.Connection) -> None:
        """Begin a transaction; a writer takes the lock at once, as a reader cannot wait for it."""
        self.check()
        mode = connection.get_execution_options().get("begin", "DEFERRED")
        connection.exec_driver_sql(f"BEGIN {mode}")

    def check_space(self) -> None:
        """Check that the disk has room for a transaction; a small one may fit in a full disk's log.

        Raises:
            StoreError: It has not.
        """
        try:
            stat = os.statvfs(Path(os.path.realpath(self._path)).parent)
        except (AttributeError, OSError):  # Windows has no such function
            return
        blocks = stat.f_bfree if os.geteuid() == 0 else stat.f_bavail
        if blocks * stat.f_frsize < SPACE:
            raise StoreError(f"{self._path}: no space left on the device")

    def _current(self) -> tuple[int, int] | None:
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_dev, stat.st_ino


def connect(url: str, mode: int = MODE) -> sa.Engine:
    """Return the engine for a database.

    Args:
        url: URL, or path of an SQLite file.
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
    file = SQLiteFile(Path(address.database), mode)
    # The last in is the first out: a connection has a cache, which another that writes empties.
    pool = {"pool_size": 8, "max_overflow": -1, "pool_use_lifo": True}
    engine = sa.create_engine(address, execution_options={"file": file}, **pool)
    sa.event.listen(engine, "do_connect", lambda *_: file.check())
    sa.event.listen(engine, "connect", _configure_sqlite)
    sa.event.listen(engine, "begin", file.begin)
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


def _configure_sqlite(connection: Any, _record: object) -> None:
    """Set WAL with full sync: without it a power cut may lose acknowledged commits."""
    connection.isolation_level = None  # `SQLiteFile.begin` starts transactions
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    cursor.execute(f"PRAGMA page_size = {PAGE}")  # of a new database
    _enable_wal(cursor)
    for setting in SETTINGS:
        cursor.execute(f"PRAGMA {setting}")
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


def _file_of(connection: sa.Connection) -> SQLiteFile | None:
    file: SQLiteFile | None = connection.get_execution_options().get("file")
    return file


def check_space(connection: sa.Connection) -> None:
    """Check that the disk of an SQLite file has room for a transaction."""
    if file := _file_of(connection):
        file.check_space()


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
            text = _missing_right(engine.url.database or "")
        text = text or " ".join(str(cause).split())[:300]
        raise StoreError(
            f"{engine.url.database if is_file else 'the store failed'}: {text}"
        ) from error


def _missing_right(database: str) -> str:
    """Return what keeps SQLite from opening or writing a file; empty if nothing seems to."""
    path = Path(os.path.realpath(database))
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    if not os.access(path.parent, os.W_OK | os.X_OK):
        return f"the folder {path.parent} is not writable, and SQLite keeps a log in it"
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        return "the file is not readable and writable"
    return ""


@contextmanager
def writing(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Open a writing transaction; those of other processes wait until it ends."""
    with _guarded(engine), engine.connect().execution_options(begin="IMMEDIATE") as connection:
        try:
            with connection.begin():
                if engine.dialect.name == "postgresql":
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
                yield connection
            if file := _file_of(connection):
                file.check()  # else what was just committed is lost
        except SQLAlchemyError:
            connection.invalidate()  # do not reuse a connection after an I/O error
            raise


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
        yield connection


def open_tables(engine: sa.Engine) -> None:
    """Create the tables of an empty database, or add what those of an older version lack.

    Raises:
        StoreError: The tables are of a newer version, or of another program.
    """
    with reading(engine) as connection:
        if existing_columns(connection) == COLUMNS.keys():
            return
    with writing(engine) as connection:
        complete(connection)  # nothing is left to do if another process was faster


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
    connection: sa.Connection,
    query: sa.Select[Any],
    column: sa.ColumnElement[Any],
    values: Sequence[Any],
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


@dataclass(frozen=True)
class Insertion:
    """An INSERT of some columns of a table, for many rows.

    Args:
        table: Table to insert into.
        names: The columns, in the order of the values of each row.
        replace: The columns to overwrite if the key exists.
        keep: Whether to skip a row whose key exists.
    """

    table: sa.Table
    names: Sequence[str]
    replace: Sequence[str] = ()
    keep: bool = False

    def into(self, connection: sa.Connection, rows: Sequence[Row]) -> None:
        """Write the rows."""
        if not rows:
            return
        statement = insert(connection, self.table)
        if self.replace:
            keys = [column.name for column in self.table.primary_key]
            new = {name: statement.excluded[name] for name in self.replace}
            statement = statement.on_conflict_do_update(index_elements=keys, set_=new)
        elif self.keep:
            statement = statement.on_conflict_do_nothing()
        connection.execute(statement, [dict(zip(self.names, row, strict=True)) for row in rows])


@dataclass(frozen=True)
class BulkUpdate:
    """An UPDATE of some columns of existing rows.

    Args:
        table: Table to update.
        keys: The columns that identify a row.
        names: The columns to overwrite; each row has the values of the keys, then of these.
    """

    table: sa.Table
    keys: Sequence[str]
    names: Sequence[str]

    def into(self, connection: sa.Connection, rows: Sequence[Row]) -> None:
        """Write the rows."""
        if not rows:
            return
        at = [f"at_{key}" for key in self.keys]
        same = [
            self.table.c[k] == sa.bindparam(name) for k, name in zip(self.keys, at, strict=True)
        ]
        new: dict[str, Any] = {name: sa.bindparam(name) for name in self.names}
        statement = sa.update(self.table).where(*same).values(new)
        names = (*at, *self.names)
        connection.execute(statement, [dict(zip(names, row, strict=True)) for row in rows])
