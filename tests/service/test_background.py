"""The background process: it refreshes, is restarted, and never outlives the service."""

import os
import signal
import sys
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
    priorities = list[int]()

    def priority(*_: object) -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    class Loop:
        def __init__(self, store: Store, _config: object) -> None:
            self.store = store

        def run(self) -> None:
            priorities.extend((priority(), self.store.write(priority)))

    monkeypatch.setattr(background, "RefreshLoop", Loop)
    config = background.WorkerConfig(str(tmp_path / "s.db"), Hunter(), "hunter", None)
    # In a thread, because a priority cannot be raised again.
    work = threading.Thread(target=background._refresh, args=(config,))
    work.start()
    work.join()
    usual = priority()
    assert priorities == [min(usual + background.NICE, 19), usual]


def test_clusters_are_due_by_the_clock_however_long_rounds_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[bool] = []
    seconds = 0.0

    def sleep(pause: float) -> None:
        """Take no time but that of the clock; end after five rounds."""
        nonlocal seconds
        seconds += pause
        if len(rounds) == 5:
            raise KeyboardInterrupt

    def run_once(_loop: object, *, clusters: bool) -> None:
        nonlocal seconds
        rounds.append(clusters)
        seconds += 90.0

    clock = SimpleNamespace(monotonic=lambda: seconds, sleep=sleep)
    monkeypatch.setattr(background, "time", clock)
    monkeypatch.setattr(background.RefreshLoop, "run_once", run_once)
    url = str(tmp_path / "store.db")
    with Store(url) as store, pytest.raises(KeyboardInterrupt):
        background.RefreshLoop(store, WorkerConfig(url, Hunter(), "hunter", None)).run()
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
    monkeypatch.setattr(background, "_refresh", endless)
    worker = BackgroundWorker(WorkerConfig(str(tmp_path / "store.db"), Hunter(), "Hunter", None))
    worker.start()
    wait_for(lambda: worker.pid is not None)
    pid = worker.pid
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
    assert time.monotonic() - started < PATIENCE / 2


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
