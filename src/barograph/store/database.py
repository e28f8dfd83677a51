"""Open the database, SQLite in a file or PostgreSQL by URL, and bring its tables up to date."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from barograph.errors import ConfigError, StoreError
from barograph.store.schema import VERSION

BUSY_MS = 15_000  # how long one process waits for another that is writing
PAGE = 2048  # bytes: of each page that a commit writes nearly all is old, so small ones cost less
CACHE = 16_384  # KiB a connection; the system's own holds the rest
LOG_PAGES = 1000
LOG_KEPT = 64 << 20  # bytes of the log's file that are not given back
AGAIN = 0.01  # seconds between two tries where SQLite does not wait by itself
KINDS = ("sqlite", "postgresql")
LOCK = 0x6261726F  # what migrations wait for on PostgreSQL


def connect(url: str, log: int = LOG_PAGES) -> sa.Engine:
    """Return the engine of a URL, or of the path of an SQLite file.

    Args:
        url: of the database.
        log: pages of SQLite's log from which on a commit writes them back to their places.
    """
    try:
        address = sa.make_url(url if "://" in url else f"sqlite:///{Path(url)}")
    except SQLAlchemyError:
        raise ConfigError("the store's URL cannot be read; give a path, or a URL") from None
    if address.get_backend_name() not in KINDS:
        raise ConfigError(
            f"the store cannot be kept in {address.get_backend_name()!r}; allowed: {KINDS}"
        )
    if address.get_backend_name() == "postgresql":
        return _driver(address.set(drivername="postgresql+psycopg"))
    if address.database in (None, "", ":memory:"):
        raise ConfigError("an SQLite store needs a file: in memory nothing would be kept")
    engine = sa.create_engine(address, pool_size=8, max_overflow=-1)
    sa.event.listen(engine, "connect", partial(_configure, log))
    sa.event.listen(engine, "begin", _begin)
    return engine


def _driver(address: sa.URL) -> sa.Engine:
    try:
        engine = sa.create_engine(address, pool_size=8, max_overflow=24, pool_pre_ping=True)
    except ModuleNotFoundError:
        raise ConfigError(
            "a PostgreSQL store needs the driver psycopg: pip install 'barograph[postgres]'"
        ) from None
    sa.event.listen(engine, "connect", _promise)
    return engine


def _promise(connection: Any, _record: object) -> None:
    """Promise what `_configure` does: an end to waiting, and the disk, whatever the server says."""
    connection.execute(f"SET lock_timeout = {BUSY_MS}")
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false)"
        " WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.commit()


def _configure(log: int, connection: Any, _record: object) -> None:
    """Acknowledged means on the disk: WAL alone may lose the last commits in a power cut."""
    connection.isolation_level = None  # we say BEGIN ourselves
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    cursor.execute(f"PRAGMA page_size = {PAGE}")  # of a database that is made now
    _log_ahead(cursor)
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute(f"PRAGMA wal_autocheckpoint = {log}")
    cursor.execute(f"PRAGMA journal_size_limit = {LOG_KEPT}")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute(f"PRAGMA cache_size = -{CACHE}")
    cursor.close()


def _log_ahead(cursor: sqlite3.Cursor) -> None:
    """Switch to WAL; where several make a new store at once, SQLite itself does not wait for it."""
    until = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(AGAIN)
        else:
            return


def _begin(connection: sa.Connection) -> None:
    # A writer asks for the lock at once: one that first reads cannot wait for it later.
    mode = connection.get_execution_options().get("begin", "DEFERRED")
    connection.exec_driver_sql(f"BEGIN {mode}")


@contextmanager
def guarded() -> Iterator[None]:
    """Turn whatever the database reports into a StoreError of one line, without the statement."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        text = " ".join(str(cause).split())[:300]
        raise StoreError(f"the store failed: {text}") from error


@contextmanager
def writing(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One transaction that writes: whole, or not at all."""
    with guarded(), engine.connect().execution_options(begin="IMMEDIATE") as connection:
        try:
            with connection.begin():
                yield connection
        except SQLAlchemyError:
            connection.invalidate()  # after an I/O error no connection is trusted again
            raise


def write_back(engine: sa.Engine) -> None:
    """Write SQLite's log back to its places, as far as nobody has to wait for it."""
    if engine.dialect.name != "sqlite":
        return
    with guarded(), engine.connect() as connection:
        # Not within a transaction, which SQLAlchemy would begin for it.
        driver = connection.connection.driver_connection
        assert driver is not None  # noqa: S101 - the connection is open
        try:
            driver.execute("PRAGMA wal_checkpoint(PASSIVE)").close()
        except sqlite3.Error as error:
            raise StoreError(f"the store's log cannot be written back: {error}") from error


@contextmanager
def reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One transaction that reads: all of it sees the same moment."""
    # PostgreSQL by itself looks anew at every statement; SQLite's level is given with BEGIN.
    level = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with (
        guarded(),
        engine.connect().execution_options(**level) as connection,
        connection.begin(),
    ):
        yield connection


def migrate(engine: sa.Engine) -> None:
    """Create the tables of an empty database, or bring existing ones to the newest version.

    Raises:
        StoreError: The tables were made by a newer version.
    """
    if _version(engine) == VERSION:
        return
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with writing(engine) as connection:
        if connection.dialect.name == "postgresql":  # others may find the same empty database
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, VERSION)
        except CommandError as error:
            raise StoreError(
                f"the store's tables cannot be brought to the version {VERSION!r}: {error}; "
                "was it used by a newer barograph?"
            ) from error


def _version(engine: sa.Engine) -> str | None:
    """Return the version of the tables: importing Alembic takes longer than all else."""
    with reading(engine) as connection:
        if not sa.inspect(connection).has_table("alembic_version"):
            return None
        version: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
        return version


def insert(connection: sa.Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that knows ON CONFLICT, in the dialect of the connection."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)
