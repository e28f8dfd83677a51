import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future

import pytest

from barograph.runtime.errors import DataError, StoreError
from barograph.server.store import IngestResult, Measurement, PointResult, PointStatus
from barograph.server.store import writer as writers
from barograph.server.store.writer import Request, Writer
from tests.shared import PATIENCE, wait_for
from tests.store.samples import series


class Recorder:
    """Notes the values of each group; a negative one is refused, 13 breaks the disk."""

    def __init__(self) -> None:
        self.groups: list[list[float]] = []
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def __call__(self, group: Sequence[Request]) -> list[IngestResult]:
        self.entered.set()
        assert self.go_on.wait(PATIENCE)
        parts = [[sent.value for sent in request.items] for request in group]
        values = [value for part in parts for value in part]
        if 13 in values:
            raise StoreError("the disk is full")
        if min(values) < 0:
            raise DataError("negative")
        self.groups.append(values)
        return [
            IngestResult([PointResult(PointStatus.WRITTEN, str(value)) for value in part], "model")
            for part in parts
        ]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "TOGETHER", 10)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def writer(recorder: Recorder) -> Iterator[Writer]:
    started = Writer(recorder, lambda: False)
    yield started
    recorder.go_on.set()
    started.close()


def send(writer: Writer, *values: float, who: str = "me") -> Future[IngestResult]:
    sent = [Measurement(series("a"), value, order) for order, value in enumerate(values)]
    return writer.submit(sent, who)


def answer(future: Future[IngestResult], seconds: float = PATIENCE) -> list[float]:
    return [float(point.reason) for point in future.result(seconds).points]


def hold(writer: Writer, recorder: Recorder) -> None:
    """Keep the thread busy with a first request, so that what follows must wait."""
    recorder.go_on.clear()
    send(writer, 1)
    assert recorder.entered.wait(PATIENCE)


def test_waiting_requests_are_written_together(writer: Writer, recorder: Recorder) -> None:
    hold(writer, recorder)
    waiting = [send(writer, 2, 3), send(writer, 4, who="you"), send(writer, 5)]
    recorder.go_on.set()
    assert [answer(future) for future in waiting] == [[2, 3], [4], [5]]
    assert recorder.groups == [[1], [2, 3, 4, 5]]


def test_group_size_is_limited(writer: Writer, recorder: Recorder) -> None:
    hold(writer, recorder)
    waiting = [send(writer, *[1] * size) for size in (6, 4, 3, 7)]
    recorder.go_on.set()
    assert [len(answer(future)) for future in waiting] == [6, 4, 3, 7]
    assert [len(group) for group in recorder.groups] == [1, 10, 10]


def test_failing_request_affects_no_other(writer: Writer, recorder: Recorder) -> None:
    hold(writer, recorder)
    waiting = [send(writer, value) for value in (2, -1, 3)]
    recorder.go_on.set()
    assert [answer(waiting[0]), answer(waiting[2])] == [[2], [3]]
    with pytest.raises(DataError, match="negative"):
        answer(waiting[1])


def test_disk_error_reaches_every_request_and_the_writer_continues(
    writer: Writer, recorder: Recorder
) -> None:
    hold(writer, recorder)
    waiting = [send(writer, 13), send(writer, 2)]
    recorder.go_on.set()
    for future in waiting:
        with pytest.raises(StoreError, match="disk is full"):
            answer(future)
    assert answer(send(writer, 4)) == [4]


def test_cancelled_request_is_not_written(writer: Writer, recorder: Recorder) -> None:
    hold(writer, recorder)
    gone, stays = send(writer, *[2] * 15), send(writer, 3)
    assert gone.cancel()
    recorder.go_on.set()
    assert answer(stays) == [3]
    assert not stays.cancel()
    assert recorder.groups == [[1], [3]]
    assert len(answer(send(writer, *[0] * 20))) == 20


def test_parts_of_a_request_let_others_in_between(writer: Writer, recorder: Recorder) -> None:
    hold(writer, recorder)
    large, other = send(writer, *[2] * 10, 3, 3), send(writer, *[4] * 6, who="you")
    recorder.go_on.set()
    assert [answer(large), answer(other)] == [[2] * 10 + [3, 3], [4] * 6]
    assert [set(group) for group in recorder.groups] == [{1}, {2}, {3, 4}]
    assert len(recorder.groups[1]) == 10


def test_parts_after_a_failed_one_are_not_written(writer: Writer, recorder: Recorder) -> None:
    with pytest.raises(StoreError, match=r"only 10 of 28 results were written.*disk is full"):
        answer(send(writer, *[1] * 10, 13, *[1] * 9, *[2] * 8))
    assert recorder.groups == [[1] * 10]
    assert len(answer(send(writer, *[0] * 20))) == 20


def test_work_that_was_left_goes_on_after_what_waits(recorder: Recorder) -> None:
    left = [-1.0, -2.0, -3.0, -4.0]

    def go_on() -> bool:
        recorder.groups.append([left.pop(0)])
        return bool(left)

    writer = Writer(recorder, go_on)
    hold(writer, recorder)
    writer.resume()
    waiting = [send(writer, *[value] * 10) for value in (2, 3)]
    recorder.go_on.set()
    assert [answer(future) for future in waiting] == [[2] * 10, [3] * 10]
    writer.close()
    assert [group[0] for group in recorder.groups] == [1, -1, 2, 3, -2, -3, -4]


def test_work_that_fails_is_tried_again_after_the_next_request(recorder: Recorder) -> None:
    tried = list[int]()

    def go_on() -> bool:
        tried.append(len(tried))
        if len(tried) < 2:
            raise StoreError("the disk is full")
        return False

    writer = Writer(recorder, go_on)
    writer.resume()
    wait_for(lambda: bool(tried))
    wait_for(lambda: writer.has_failed)
    writer.resume()
    writer.close()
    assert tried == [0, 1]


def test_jobs_run_alone_and_raise_their_errors(writer: Writer) -> None:
    assert writer.run(lambda: 7) == 7
    with pytest.raises(DataError, match="no"):
        writer.run(lambda: _fail(DataError("no")))
    with pytest.raises(StoreError, match="KeyError"):
        writer.run(lambda: _fail(KeyError("odd")))


def _fail(error: Exception) -> int:
    raise error


def test_close_finishes_the_queue(recorder: Recorder) -> None:
    writer = Writer(recorder, lambda: False)
    waiting = [send(writer, item) for item in range(1, 6)]
    waiting.append(send(writer, *[6] * 15))
    writer.close()
    assert [answer(future, 0) for future in waiting] == [[1], [2], [3], [4], [5], [6] * 15]
    with pytest.raises(StoreError, match="closed"):
        send(writer, 1)
