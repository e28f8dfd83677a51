"""A PostgreSQL server of its own for the tests, where its programs are installed."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def programs() -> Path:
    """Where initdb and pg_ctl are; skips the test where they are not."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    found = shutil.which("pg_ctl") or (str(places[-1]) if places else None)
    if found is None:
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("psycopg", reason="the driver of PostgreSQL is not installed")
    return Path(found).parent


@contextmanager
def server() -> Iterator[str]:
    """Start a server that listens in a private folder alone; yield the URL without a database."""
    bin_, root = programs(), os.geteuid() == 0
    # The path of a socket may have 107 characters: pytest's own folders are too deep.
    with tempfile.TemporaryDirectory(prefix="baro", ignore_cleanup_errors=True) as folder:
        if root:
            shutil.chown(folder, "postgres")
        user = "postgres" if root else None
        data = f"{folder}/data"

        def run(*command: str) -> None:
            subprocess.run(  # noqa: S603 - PostgreSQL's own programs
                command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, env={}
            )

        run(
            *(f"{bin_}/initdb", "--pgdata", data, "--auth", "trust", "--username", "barograph"),
            *("--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"),
        )
        options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        run(f"{bin_}/pg_ctl", "-D", data, "-l", f"{folder}/log", "-w", "-o", options, "start")
        try:
            yield f"postgresql://barograph@/{{database}}?host={folder}"
        finally:
            run(f"{bin_}/pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
