"""A PostgreSQL server of its own for the tests, where its programs are installed."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import pytest

from tests import parts
from tests.shared import wait_for


def programs() -> Path:
    """Where initdb and pg_ctl are; skips the test where they are not."""
    folder = parts.postgres()
    if folder is None:
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("psycopg", reason="the driver of PostgreSQL is not installed")
    return folder


@contextmanager
def running(fsync: str = "off") -> Iterator[str]:
    """Start a server that listens in a private folder alone; yield its URL."""
    bin_, root = programs(), os.geteuid() == 0
    # The path of a socket may have 107 characters: pytest's own folders are too deep.
    with tempfile.TemporaryDirectory(prefix="baro", ignore_cleanup_errors=True) as folder:
        if root:
            shutil.chown(folder, "postgres")
        user = "postgres" if root else None
        quiet: dict[str, Any] = {"user": user, "cwd": folder, "env": {}, "stderr": DEVNULL}
        subprocess.run(  # noqa: S603 - PostgreSQL's own programs
            [
                *(f"{bin_}/initdb", "--pgdata", f"{folder}/data", "--auth", "trust", "--no-sync"),
                *("--username", "barograph", "--encoding", "UTF8", "--locale", "C.UTF-8"),
            ],
            check=True,
            stdout=DEVNULL,
            **quiet,
        )
        options = ("listen_addresses=", f"unix_socket_directories={folder}", f"fsync={fsync}")
        command = [f"{bin_}/postgres", "-D", f"{folder}/data"]
        command += [part for option in options for part in ("-c", option)]
        with subprocess.Popen(command, **quiet) as process:  # noqa: S603 - the same
            try:
                yield _ready(f"postgresql://barograph@/postgres?host={folder}")
            finally:
                process.send_signal(signal.SIGQUIT)  # stop at once: nothing is kept


def _ready(url: str) -> str:
    """Wait until the server answers."""
    import psycopg

    def answers() -> bool:
        with suppress(psycopg.OperationalError):
            psycopg.connect(url).close()
            return True
        return False

    wait_for(answers)
    return url
