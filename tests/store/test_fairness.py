"""Processes that write to one SQLite store get their turn in the order in which they asked."""

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
import sqlalchemy as sa

from barograph.server.store import Store, audit, database, sqlite_file
from barograph.server.store.schema import audit as entries
from tests.shared import wait_for

LONG = 0.03  # seconds of one transaction


def write_on(url: str, pipe: int) -> None:
    """Write one transaction after another."""

    def work(connection: sa.Connection) -> None:
        audit.note(connection, 0, "busy", "busy", "")
        time.sleep(LONG)

    with Store(url) as store:
        while True:
            store.write(work)
            os.write(pipe, b".")


def fork_writer(url: str, pipe: int) -> int:
    child = os.fork()
    if child == 0:
        try:
            write_on(url, pipe)
        finally:
            os._exit(1)
    return child


@pytest.fixture
def busy_store(tmp_path: Path) -> Iterator[Store]:
    """A store to which two other processes write without a pause."""
    url = str(tmp_path / "store.db")
    reading, writing = os.pipe()
    Store(url).close()
    children = [fork_writer(url, writing) for _ in range(2)]
    try:
        for _ in range(4):
            os.read(reading, 1)
        with Store(url) as store:
            yield store
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def written(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(entries)).scalar_one()


def test_writer_waits_for_few_transactions_of_busy_processes(busy_store: Store) -> None:
    waited = []
    for _ in range(8):
        with busy_store.read() as connection:
            before = written(connection)
        waited.append(busy_store.write(written) - before)
    # One that runs, one of each that waits, and some slack. The median, because more are written
    # where this process is interrupted before it asks for its turn.
    assert median(waited) <= 6, waited
    with busy_store.read() as connection:  # and the others are not starved
        before = written(connection)

    def have_written() -> bool:
        with busy_store.read() as connection:
            return written(connection) - before >= 3

    wait_for(have_written)


def test_suspended_process_at_the_gate_only_costs_the_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_MS", 100)
    path = tmp_path / "store.db"
    with Store(str(path)) as store, (tmp_path / "store.db-gate").open() as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        store.write(lambda connection: audit.note(connection, 0, "me", "write", ""))
        with store.read() as connection:
            assert written(connection) == 1
        monkeypatch.setattr(sqlite_file, "_Waiting", None)  # a second writer does not wait at all
        for _ in range(20):
            store.write(lambda connection: audit.note(connection, 0, "me", "write", ""))
        monkeypatch.undo()
        fcntl.flock(gate, fcntl.LOCK_UN)
        # The wait that was given up does not keep the lock.
        with sqlite_file._locked(tmp_path / "store.db-gate", 0o600, 5.0):
            pass
        began = time.monotonic()
        store.write(lambda connection: audit.note(connection, 0, "me", "write", ""))
        assert time.monotonic() - began < 5.0
        with store.read() as connection:
            assert written(connection) == 22
