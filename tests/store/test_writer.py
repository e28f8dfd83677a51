import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any

import pytest

from barograph.runtime.errors import DataError, StoreError
from barograph.server.store import Measurement, Store
from barograph.server.store import store as stores
from barograph.server.store.ingest import Ingest
from barograph.server.store.store import Writer
from tests.shared import PATIENCE, wait_for
from tests.store.samples import series


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def held(writer: Writer, pool: ThreadPoolExecutor) -> tuple[threading.Event, Future[bool]]:
    """Keep the thread busy until the event is set, so that what follows must wait."""
    entered, go_on = threading.Event(), threading.Event()

    def wait() -> bool:
        entered.set()
        return go_on.wait(PATIENCE)

    job = pool.submit(writer.run, wait)
    assert entered.wait(PATIENCE)
    return go_on, job


def queued(writer: Writer, pool: ThreadPoolExecutor, *jobs: Callable[[], object]) -> None:
    """Send jobs from threads of their own, each once the one before waits."""
    queue = writer._thread._work_queue
    for job in jobs:
        length = queue.qsize() + 1
        pool.submit(writer.run, job)
        wait_for(partial(_has, queue, length))


def _has(queue: SimpleQueue[Any], length: int) -> bool:
    return queue.qsize() >= length


def test_parts_of_a_request_let_others_in_between(
    store: Store, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "TOGETHER", 10)
    parts: list[list[float]] = []
    entered, go_on, take = threading.Event(), threading.Event(), Ingest.take

    def taken(self: Ingest, measurements: list[Measurement]) -> object:
        parts.append([row.value for row in measurements])
        entered.set()
        assert go_on.wait(PATIENCE)
        return take(self, measurements)

    monkeypatch.setattr(Ingest, "take", taken)
    sent = [Measurement(series("a"), float(k < 10), k) for k in range(12)]
    large = pool.submit(store.ingest, sent, "me")
    assert entered.wait(PATIENCE)
    other = pool.submit(store.ingest, [Measurement(series("b"), 7.0, 0)], "you")
    wait_for(lambda: store._writer.is_busy)
    go_on.set()
    assert large.result(PATIENCE).counts["written"] == 12
    assert other.result(PATIENCE).counts["written"] == 1
    assert parts == [[1.0] * 10, [7.0], [0.0] * 2]


def test_work_that_was_left_takes_turns_with_what_waits(pool: ThreadPoolExecutor) -> None:
    left, done = [-1, -2, -3, -4], list[int]()

    def go_on() -> bool:
        done.append(left.pop(0))
        return bool(left)

    writer = Writer(go_on)
    event, job = held(writer, pool)
    writer.resume()
    queued(writer, pool, lambda: done.append(2), lambda: done.append(3))
    event.set()
    assert job.result(PATIENCE)
    wait_for(lambda: 3 in done)
    writer.close()
    assert done == [-1, 2, 3, -2, -3, -4]


def test_work_that_fails_is_tried_again_after_the_next_request() -> None:
    tried = list[int]()

    def go_on() -> bool:
        tried.append(len(tried))
        if len(tried) < 2:
            raise StoreError("the disk is full")
        return False

    writer = Writer(go_on)
    writer.resume()
    wait_for(lambda: bool(tried))
    wait_for(lambda: writer.has_failed)
    writer.resume()
    writer.close()
    assert tried == [0, 1]


def test_jobs_run_alone_and_raise_their_errors() -> None:
    writer = Writer(lambda: False)
    assert writer.run(lambda: 7) == 7
    with pytest.raises(DataError, match="no"):
        writer.run(lambda: _fail(DataError("no")))
    with pytest.raises(StoreError, match="KeyError"):
        writer.run(lambda: _fail(KeyError("odd")))
    writer.close()


def _fail(error: Exception) -> int:
    raise error


def test_close_finishes_the_queue(pool: ThreadPoolExecutor) -> None:
    writer, done = Writer(lambda: False), list[int]()
    event, _ = held(writer, pool)
    queued(writer, pool, *(lambda k=k: done.append(k) for k in range(3)))
    event.set()
    writer.close()
    assert done == [0, 1, 2]
    with pytest.raises(StoreError, match="closed"):
        writer.run(lambda: 1)
