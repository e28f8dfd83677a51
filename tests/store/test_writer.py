import threading
from collections.abc import Iterator, Sequence

import pytest

from barograph.errors import DataError, StoreError
from barograph.store.writer import Request, Writer
from tests.shared import PATIENCE

Ints = Writer[int, int]


class Recorder:
    """Adds up the items of each request; a negative one is refused, 13 breaks the disk."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def __call__(self, group: Sequence[Request[int, int]]) -> list[int]:
        self.entered.set()
        assert self.go_on.wait(PATIENCE)
        items = [item for request in group for item in request.items]
        if 13 in items:
            raise StoreError("the disk is full")
        if min(items) < 0:
            raise DataError("negative")
        self.groups.append(items)
        return [sum(request.items) for request in group]


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def writer(recorder: Recorder) -> Iterator[Ints]:
    started: Ints = Writer(recorder, together=10, backlog=20)
    yield started
    recorder.go_on.set()
    started.close()


def hold(writer: Ints, recorder: Recorder) -> None:
    """Keep the thread busy with a first request, so that what follows must wait."""
    recorder.go_on.clear()
    writer.submit([1], "me")
    assert recorder.entered.wait(PATIENCE)


def test_waiting_requests_are_written_together(writer: Ints, recorder: Recorder) -> None:
    hold(writer, recorder)
    waiting = [writer.submit([2, 3], "me"), writer.submit([4], "you"), writer.submit([5], "me")]
    recorder.go_on.set()
    assert [future.result(PATIENCE) for future in waiting] == [5, 4, 5]
    assert recorder.groups == [[1], [2, 3, 4, 5]]


def test_group_size_is_limited(writer: Ints, recorder: Recorder) -> None:
    hold(writer, recorder)
    waiting = [writer.submit([1] * size, "me") for size in (6, 4, 3, 7)]
    recorder.go_on.set()
    assert [future.result(PATIENCE) for future in waiting] == [6, 4, 3, 7]
    assert [len(group) for group in recorder.groups] == [1, 10, 10]


def test_failing_request_affects_no_other(writer: Ints, recorder: Recorder) -> None:
    hold(writer, recorder)
    waiting = [writer.submit(items, "me") for items in ([2], [-1], [3])]
    recorder.go_on.set()
    assert [waiting[0].result(PATIENCE), waiting[2].result(PATIENCE)] == [2, 3]
    with pytest.raises(DataError, match="negative"):
        waiting[1].result(PATIENCE)


def test_disk_error_reaches_every_request_and_the_writer_continues(
    writer: Ints, recorder: Recorder
) -> None:
    hold(writer, recorder)
    waiting = [writer.submit([13], "me"), writer.submit([2], "me")]
    recorder.go_on.set()
    for future in waiting:
        with pytest.raises(StoreError, match="disk is full"):
            future.result(PATIENCE)
    assert writer.submit([4], "me").result(PATIENCE) == 4


def test_cancelled_request_is_not_written(writer: Ints, recorder: Recorder) -> None:
    hold(writer, recorder)
    gone, stays = writer.submit([2], "me"), writer.submit([3], "me")
    assert gone.cancel()
    recorder.go_on.set()
    assert stays.result(PATIENCE) == 3
    assert not stays.cancel()
    assert recorder.groups == [[1], [3]]


def test_request_beyond_the_backlog_is_refused(writer: Ints, recorder: Recorder) -> None:
    hold(writer, recorder)
    writer.submit([0] * 15, "me")
    with pytest.raises(StoreError, match="15 measurements are waiting already"):
        writer.submit([0] * 6, "me")


def test_parts_of_a_request_let_others_in_between(writer: Ints, recorder: Recorder) -> None:
    hold(writer, recorder)
    parts = writer.submit_parts([[1] * 6, [2] * 6], "me")
    other = writer.submit([3] * 6, "you")
    recorder.go_on.set()
    assert [future.result(PATIENCE) for future in (*parts, other)] == [6, 12, 18]
    assert [set(group) for group in recorder.groups] == [{1}, {1}, {3}, {2}]


def test_parts_after_a_failed_one_are_not_written(writer: Ints, recorder: Recorder) -> None:
    parts = writer.submit_parts([[1] * 6, [13], [2] * 6], "me")
    assert parts[0].result(PATIENCE) == 6
    for part in parts[1:]:
        with pytest.raises(StoreError, match="disk is full"):
            part.result(PATIENCE)
    assert recorder.groups == [[1] * 6]
    assert (
        writer.submit([0] * 20, "me").result(PATIENCE) == 0
    )  # nothing of it is counted as waiting


def test_jobs_run_alone_and_raise_their_errors(writer: Ints) -> None:
    assert writer.run(lambda: 7) == 7
    with pytest.raises(DataError, match="no"):
        writer.run(lambda: _fail(DataError("no")))
    with pytest.raises(StoreError, match="KeyError"):
        writer.run(lambda: _fail(KeyError("odd")))


def _fail(error: Exception) -> int:
    raise error


def test_close_finishes_the_queue(recorder: Recorder) -> None:
    writer: Ints = Writer(recorder)
    waiting = [writer.submit([item], "me") for item in range(1, 6)]
    waiting += writer.submit_parts([[6], [7]], "me")
    writer.close()
    assert [future.result(0) for future in waiting] == [1, 2, 3, 4, 5, 6, 7]
    with pytest.raises(StoreError, match="closed"):
        writer.submit([1], "me")
