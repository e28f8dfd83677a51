"""The background process: it refreshes, is restarted, and never outlives the service."""

import logging
import os
import signal
import sys
import tempfile
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barograph.detection import Hunter
from barograph.server.store import Store, candidate_records
from barograph.server.web import background
from barograph.server.web.background import BackgroundWorker, WorkerConfig
from tests.service.conftest import Start, store_of
from tests.service.samples import POINTS, steps
from tests.service.test_reliability import server
from tests.shared import PATIENCE, wait_for


def has_ended(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return True
    # A process that ended keeps its number until its parent asks for its exit code.
    return "\nState:\tZ" in status


def children(pid: int) -> set[int]:
    """Return the processes that a process started."""
    started: set[int] = set()
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
            started |= set(map(int, (thread / "children").read_text(encoding="ascii").split()))
    return started


def is_refreshed(store: Store) -> bool:
    with store.read() as connection:
        return candidate_records.count_stale(connection) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only there a thread has its own priority")
def test_worker_computes_at_low_priority_and_writes_at_that_of_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    priorities, ends = list[int](), list[bool]()

    def priority(*_: object) -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    class Loop:
        def __init__(self, store: Store, _config: object) -> None:
            self.store = store

        def run(self, _stop: object) -> None:
            priorities.extend((priority(), self.store.write(priority)))

    monkeypatch.setattr(background, "RefreshLoop", Loop)
    monkeypatch.setattr(background, "_serve", lambda *_: None)
    monkeypatch.setattr(os, "setpgrp", lambda: None)
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    monkeypatch.setattr(background, "_exit", lambda: ends.append(True))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    config = background.WorkerConfig(str(tmp_path / "s.db"), Hunter(), "hunter", None)
    # In a thread, because a priority cannot be raised again.
    work = threading.Thread(
        target=background._work, args=(None, config, logging.ERROR, str(tmp_path))
    )
    work.start()
    work.join()
    assert ends == [True]
    usual = priority()
    assert priorities == [min(usual + background.NICE, 19), usual]


def test_clusters_are_due_by_the_clock_however_long_rounds_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[bool] = []
    seconds = 0.0

    class Stop(threading.Event):
        """Set after five rounds; a wait takes no time but that of the clock."""

        def wait(self, timeout: float | None = None) -> bool:
            nonlocal seconds
            seconds += timeout or 0.0
            return len(rounds) == 5

    def run_once(_loop: object, *, clusters: bool, stop: threading.Event) -> None:
        nonlocal seconds
        rounds.append(clusters)
        seconds += 90.0

    monkeypatch.setattr(background, "time", SimpleNamespace(monotonic=lambda: seconds))
    monkeypatch.setattr(background.RefreshLoop, "run_once", run_once)
    url = str(tmp_path / "store.db")
    with Store(url) as store:
        background.RefreshLoop(store, WorkerConfig(url, Hunter(), "hunter", None)).run(Stop())
    assert rounds == [False, True, False, True, False]  # the pause begins after a round


def test_worker_refreshes_restarts_after_a_crash_and_stops(start: Start, tmp_path: Path) -> None:
    client = start()
    store = store_of(client)
    config = WorkerConfig(str(tmp_path / "store.db"), Hunter(), "Hunter", None, pause=0.05)
    worker = BackgroundWorker(config)
    worker.start()
    try:
        number = client.post(POINTS, json=steps("insert")).json()["decisions"][0]["series"]
        wait_for(lambda: is_refreshed(store))
        path = f"/api/v1/series/{number}/change-points"
        [change] = client.get(path).json()["change_points"]
        assert (change["order"], change["detector"]) == (25, "Hunter")
        first = worker.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: worker.pid not in {None, first})
        client.post(POINTS, json=steps("remove"))
        wait_for(lambda: is_refreshed(store))
        reply = client.get("/api/v1/change-points").json()["change_points"]
        assert len({row["series"] for row in reply}) == 2
        second = worker.pid
    finally:
        worker.stop()
    assert second is not None
    wait_for(lambda: has_ended(second))


def endless(*_: object) -> None:
    """Do the work of a process whose round does not end."""
    time.sleep(PATIENCE)


def test_worker_has_ended_once_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "_work", endless)
    worker = BackgroundWorker(WorkerConfig(str(tmp_path / "store.db"), Hunter(), "Hunter", None))
    worker.start()
    wait_for(lambda: worker.pid is not None)
    pid = worker.pid
    monkeypatch.setattr(background, "GRACE", 0.1)
    started = time.monotonic()
    worker.stop()
    assert pid is not None
    assert has_ended(pid)
    assert time.monotonic() - started < PATIENCE / 2


class SlowToLoad(Hunter):
    """A detector that keeps a process from starting."""

    def __reduce__(self) -> tuple[Any, ...]:
        return time.sleep, (PATIENCE,)


def test_worker_that_is_still_starting_ends_at_once(tmp_path: Path) -> None:
    config = WorkerConfig(str(tmp_path / "store.db"), SlowToLoad(), "Hunter", None)
    worker = BackgroundWorker(config)
    worker.start()
    wait_for(lambda: worker.pid is not None)
    pid, started = worker.pid, time.monotonic()
    worker.stop()
    assert pid is not None
    assert has_ended(pid)
    assert time.monotonic() - started < background.GRACE


class Interrupted:
    """A loop that gets SIGTERM while it holds the lock of the stop, as it does for a moment."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def run(self, stop: Any) -> None:
        with stop._cond:
            signal.raise_signal(signal.SIGTERM)
        stop.wait()


def interrupted(*arguments: Any) -> None:
    """Do the work of the process with such a loop."""
    background.RefreshLoop = Interrupted  # type: ignore[assignment, misc]
    background._work(*arguments)


def test_signal_at_any_moment_stops_the_process(tmp_path: Path) -> None:
    config = WorkerConfig(str(tmp_path / "store.db"), Hunter(), "Hunter", None)
    process, pipe = background.start_child(interrupted, config, logging.ERROR, str(tmp_path))
    process.join(PATIENCE / 2)
    try:
        assert process.exitcode == -signal.SIGKILL  # it ends with all processes of its group
    finally:
        process.kill()
        pipe.close()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")
def test_worker_ends_with_the_service_on_any_signal(
    tmp_path: Path, artifact: Path, how: signal.Signals
) -> None:
    with server(tmp_path / "store.db", artifact) as (_, process):
        started = children(process.pid)
        assert started
        process.send_signal(how)
        process.wait(timeout=PATIENCE)
        for pid in started:
            wait_for(partial(has_ended, pid))
