"""Calls in processes, on a Dask scheduler, and in threads."""

import io
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from joblib.externals.loky import get_reusable_executor

from barograph.runtime import parallel
from barograph.runtime.errors import ConfigError, SourceError
from barograph.runtime.parallel import (
    SCHEDULER,
    VARIABLE,
    Progress,
    map_parallel,
    map_threads,
    row_ranges,
    usable_cores,
)
from tests.shared import local_cluster, wait_for


def test_usable_cores_respects_the_affinity_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 3}, raising=False)
    assert usable_cores() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1


@pytest.mark.parametrize("text", ["0", "-1", "many"])
def test_worker_count_refuses_a_wrong_variable(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ConfigError, match=f"{VARIABLE} is '{text}'"):
        parallel.worker_count()


def square(number: int) -> int:
    return number * number


@pytest.mark.parametrize("workers", [1, 2])
def test_map_parallel_keeps_the_order_of_the_calls(
    workers: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "PATIENCE", 0.0)
    calls = [(number,) for number in range(5)]
    monkeypatch.setenv(VARIABLE, str(workers))
    results = list(map_parallel(square, calls, label="squares"))
    assert results == [0, 1, 4, 9, 16]
    assert capsys.readouterr().err.splitlines()[-1] == "squares: 5 of 5"


def ignores_interrupts(_call: int) -> bool:
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_DFL])
def test_workers_leave_ctrl_c_to_their_parent(
    handler: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    get_reusable_executor().shutdown(wait=True)  # of other tests, with workers that run
    before = signal.signal(signal.SIGINT, handler)
    try:
        assert list(map_parallel(ignores_interrupts, [(1,), (2,)])) == [True, True]
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_processes_can_be_started_from_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    calls = [(number,) for number in range(3)]
    with ThreadPoolExecutor(1) as pool:
        results = pool.submit(lambda: list(map_parallel(square, calls))).result()
    assert results == [0, 1, 4]


def test_map_parallel_runs_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        assert set(map_parallel(os.getcwd, [()] * 4)) == {str(tmp_path / name)}


@pytest.mark.parametrize("count", [0, 1, 9, 20, 101])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("largest", [None, 7])
def test_row_ranges_cover_every_row_once(count: int, threads: int, largest: int | None) -> None:
    ranges = row_ranges(count, threads, smallest=5, largest=largest)
    rows = [row for part in ranges for row in range(count)[part]]
    assert rows == list(range(count))


def test_map_threads_keeps_the_order_of_the_parts() -> None:
    ranges = row_ranges(100, 3, smallest=5)
    assert len(ranges) > 3
    for threads in (1, 3):
        assert map_threads(lambda part: part, ranges, threads=threads) == ranges


def slow_square(number: int) -> int:
    """Compute slowly enough that a worker can be killed meanwhile."""
    time.sleep(0.5)
    return number * number


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with local_cluster(2) as started:
        monkeypatch.setenv(SCHEDULER, started.scheduler_address)
        yield started


@pytest.mark.usefixtures("cluster")
def test_dask_workers_run_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert set(map_parallel(os.getcwd, [()] * 4)) == {str(tmp_path)}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_killed_dask_worker_does_not_change_the_results(cluster: Any) -> None:
    victim = cluster.workers[0].pid
    calls = [(number,) for number in range(12)]
    results = []
    for result in map_parallel(slow_square, calls):
        results.append(result)
        if len(results) == 2:
            os.kill(victim, signal.SIGKILL)
    assert results == [number * number for number in range(12)]


def squares_below(number: int) -> list[int]:
    """Map inside a call that may run on a worker."""
    return list(map_parallel(square, [(k,) for k in range(number)]))


def test_calls_within_a_process_run_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2")
    assert list(map_parallel(squares_below, [(1,), (3,)])) == [[0], [0, 1, 4]]


def test_calls_within_a_dask_worker_do_not_wait_for_its_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with local_cluster(0) as cluster:
        monkeypatch.setenv(SCHEDULER, cluster.scheduler_address)
        cluster.scale(1)  # the worker inherits the variable
        assert list(map_parallel(squares_below, [(1,), (3,)])) == [[0], [0, 1, 4]]


def test_dask_workers_keep_no_result_that_was_read(cluster: Any) -> None:
    results = map_parallel(square, [(number,) for number in range(12)])
    for _ in range(8):
        next(results)
    wait_for(lambda: len(cluster.scheduler.tasks) == 4)
    assert list(results) == [64, 81, 100, 121]


@pytest.mark.parametrize("address", ["nonsense", "ftp://x:1", "tcp://127.0.0.1:1"])
def test_an_unreachable_scheduler_is_a_source_error(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "CONNECT", 1)
    monkeypatch.setenv(SCHEDULER, address)
    with pytest.raises(SourceError, match=f"BAROGRAPH_SCHEDULER {address}: cannot be reached"):
        list(map_parallel(square, [(1,)]))


def read_absent(folder: str) -> bytes:
    """Read a file that no worker sees."""
    return Path(folder, "absent").read_bytes()


@pytest.mark.usefixtures("cluster")
def test_a_file_missing_on_a_worker_is_a_source_error(tmp_path: Path) -> None:
    calls = [(str(tmp_path),)]
    with pytest.raises(SourceError, match=r"the work failed: FileNotFoundError: .*absent"):
        list(map_parallel(read_absent, calls))


def test_a_scheduler_without_workers_is_a_source_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "ARRIVE", 1)
    with local_cluster(0) as cluster:
        monkeypatch.setenv(SCHEDULER, cluster.scheduler_address)
        with pytest.raises(SourceError, match="Only 0/1 workers arrived"):
            list(map_parallel(square, [(1,)]))


class Screen(io.StringIO):
    """A stderr that may be a terminal."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "expected"),
    [
        (False, "work: 600 of 2,000\nwork: 900 of 2,000\nwork: 2,000 of 2,000\n"),
        (True, "\rwork: 600 of 2,000\rwork: 900 of 2,000\rwork: 2,000 of 2,000\n"),
    ],
)
def test_progress_is_reported_after_two_seconds(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, expected: str
) -> None:
    screen, clock = Screen(is_terminal), iter([0.0, 1.9, 2.1, 2.12, 3.0, 4.0])
    monkeypatch.setattr("sys.stderr", screen)
    # Not that of all modules: other threads may ask it for the time.
    monkeypatch.setattr(parallel, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    progress = Progress("work", 2000)
    for done in (500, 600, 601, 900, 2000):
        progress.update(done)
    assert screen.getvalue() == expected
