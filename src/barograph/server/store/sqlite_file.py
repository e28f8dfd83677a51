"""The file of an SQLite store: its permissions, its identity, and the order of its writers.

SQLite does not queue writers. A writer that finds the database locked sleeps and asks again, and
a process that writes one transaction after another takes the lock back in the meantime. So each
writer here first locks a file beside the database, the gate, and holds it until it has the
database: a writer that has just finished waits at the gate after those that wait for the database.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from barograph.runtime.errors import StoreError

try:
    import fcntl
except ModuleNotFoundError:  # Windows: writers wait as SQLite lets them
    fcntl = None  # type: ignore[assignment]

POLL = 0.002  # seconds between two attempts to get the database
MODE = 0o600
SPACE = 1 << 20  # bytes


class SQLiteFile:
    """The database file of an engine.

    Args:
        path: Path of the file.
        mode: Permissions of a new file; SQLite gives its log the same.
        wait: Seconds that a writer waits for others.
    """

    def __init__(self, path: Path, mode: int, wait: float) -> None:
        self._path = path
        # A link leads to the file, and writers that open it by any name share one gate.
        self._target = Path(os.path.realpath(path))
        self._gate = self._target.with_name(f"{self._target.name}-gate")
        self._mode = mode
        self._wait = wait
        self._gate_wait = wait
        self._identity: tuple[int, int] | None = None  # unknown before the first connection

    def prepare(self) -> None:
        """Create the file before the first connection; check it before each other one."""
        if self._identity is not None:
            self.check()
            return
        with suppress(OSError):  # it exists, or SQLite reports why it cannot be created
            _create(self._target, self._mode)

    def opened(self) -> None:
        """Remember which file the first connection opened, and create its gate."""
        if self._identity is None:
            self._identity = self._current()
            with suppress(OSError):  # it exists, or writers do without it
                _create(self._gate, self._mode)

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

    def check_space(self) -> None:
        """Check that the disk has room for a transaction; a small one may fit in a full disk's log.

        Raises:
            StoreError: It has not.
        """
        try:
            stat = os.statvfs(self._target.parent)
        except (AttributeError, OSError):  # Windows has no such function
            return
        blocks = stat.f_bfree if os.geteuid() == 0 else stat.f_bavail
        if blocks * stat.f_frsize < SPACE:
            raise StoreError(f"{self._path}: no space left on the device")

    def begin(self, connection: sqlite3.Connection) -> bool:
        """Begin a writing transaction after the writers that came earlier.

        Returns:
            Whether it began before the time was up.

        Raises:
            StoreError: The file was deleted or replaced.
        """
        self.check()
        until = time.monotonic() + self._wait
        with _locked(self._gate, self._mode, self._gate_wait) as is_locked:
            # A process that keeps the gate locked costs others this time once, not at each write.
            self._gate_wait = self._wait if is_locked else 0.0
            connection.execute("PRAGMA busy_timeout = 0")
            try:
                return _begin(connection, until)
            finally:
                connection.execute(f"PRAGMA busy_timeout = {round(self._wait * 1000)}")

    def _current(self) -> tuple[int, int] | None:
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_dev, stat.st_ino


def missing_right(database: str) -> str:
    """Return what keeps SQLite from opening or writing a file; empty if nothing seems to."""
    path = Path(os.path.realpath(database))
    if not path.parent.is_dir():
        return f"there is no folder {path.parent}"
    if not os.access(path.parent, os.W_OK | os.X_OK):
        return f"the folder {path.parent} is not writable, and SQLite keeps a log in it"
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        return "the file is not readable and writable"
    return ""


def _create(path: Path, mode: int) -> None:
    """Create an empty file with exactly these permissions, whatever the umask is."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    try:
        path.chmod(mode)
    finally:
        os.close(handle)


def _begin(connection: sqlite3.Connection, until: float) -> bool:
    """Try to begin until a time; return whether it worked."""
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                return False
            time.sleep(POLL)
        else:
            return True


@contextmanager
def _locked(path: Path, mode: int, seconds: float) -> Iterator[bool]:
    """Hold the lock of a file, or go on without it once the time is up; yield which."""
    handle = -1
    if fcntl is not None:
        # Without the file writers are not in order, but as safe as with it.
        with suppress(OSError):
            flags = os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK  # it may be a pipe
            handle = os.open(path, flags, mode)
            handle = _lock(handle, seconds)
    try:
        yield handle >= 0
    finally:
        if handle >= 0:
            _unlock(handle)


def _lock(handle: int, seconds: float) -> int:
    """Lock an open file; return it, or -1 if it is closed because the time is up."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if not seconds:
            os.close(handle)
            return -1
        # The kernel wakes those who wait in their order; only a thread can wait with a limit.
        waiting = _Waiting(handle)
        return handle if waiting.wait(seconds) else -1
    return handle


def _unlock(handle: int) -> None:
    fcntl.flock(handle, fcntl.LOCK_UN)  # a forked process may have a copy of the handle
    os.close(handle)


class _Waiting(threading.Thread):
    """Waits for the lock of a file; frees it at once if the wait was given up."""

    def __init__(self, handle: int) -> None:
        super().__init__(name="barograph-gate", daemon=True)
        self._handle = handle
        self._ended = threading.Event()
        self._decision = threading.Lock()
        self._given_up = self._has_lock = False

    def run(self) -> None:
        """Wait."""
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        with self._decision:
            self._has_lock = True
            if self._given_up:
                _unlock(self._handle)
        self._ended.set()

    def wait(self, seconds: float) -> bool:
        """Start to wait; return whether it has the lock in time."""
        self.start()
        self._ended.wait(seconds)
        with self._decision:
            self._given_up = not self._has_lock
            return self._has_lock
