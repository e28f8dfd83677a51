"""One thread does all writing, in the order of asking; requests that wait are committed together.

A large request is written in parts with a transaction each, so that others need not wait long. If
some parts were written before an error or a crash, it is repaired when it is sent again: what the
store has is a duplicate.
"""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from barograph.runtime.errors import BarographError, StoreError
from barograph.server.store.measurement import IngestResult, Measurement, PointResult, PointStatus

R = TypeVar("R")
TOGETHER = 2_000  # a transaction of as many results takes about half a second


@dataclass
class Request:
    """The measurements of one sender, written in parts; the future gets the result of them all.

    Attributes:
        who: Name for the audit trail.
        measurements: The measurements.
        parts: The rows of each part that is not written yet, the next one first.
        points: The results of the parts that are written.
        future: What the sender waits for.
    """

    who: str
    measurements: Sequence[Measurement]
    parts: deque[Sequence[int]]
    points: list[PointResult]
    future: Future[IngestResult] = field(default_factory=Future)

    @property
    def items(self) -> list[Measurement]:
        """The measurements of the next part."""
        return [self.measurements[row] for row in self.parts[0]]


class Writer:
    """A thread that does jobs in the order of asking, and writes groups of requests.

    Args:
        commit: Writes the next parts of a group of requests in one transaction, and returns their
            results. If it fails because of its content, each request is retried alone.
        go_on: Does work that was left, in a transaction of its own, and returns whether any
            remains. It takes turns with what waits until nothing remains.

    Attributes:
        has_failed: Whether the store failed in the last transaction.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Request]], Sequence[IngestResult]],
        go_on: Callable[[], bool],
    ) -> None:
        self._commit, self._go_on = commit, go_on
        self._thread = ThreadPoolExecutor(1, "barograph-writer")
        self._requests: deque[Request] = deque()
        self._waiting: deque[None] = deque()  # an entry for each job
        self._has_work = self._closed = self.has_failed = False
        self._thread.submit(int)  # starts it now, with the priority that its creator has now

    @property
    def is_busy(self) -> bool:
        """Whether jobs wait."""
        return bool(self._waiting)

    def submit(self, measurements: Sequence[Measurement], who: str) -> Future[IngestResult]:
        """Queue a request; its future has the result once all of it is committed.

        Between the parts of a large request others are written. If one fails, those after it are
        not written.
        """
        self._check_open()
        points = [PointResult(PointStatus.REJECTED)] * len(measurements)
        request = Request(who, measurements, deque(cut(measurements, TOGETHER)), points)
        self._requests.append(request)
        self._queue(self._write_group)
        return request.future

    def run(self, work: Callable[[], R]) -> R:
        """Run work in the writing thread, and return its result."""
        self._check_open()
        try:
            return self._queue(partial(self._watched, work)).result()
        except BarographError:
            raise
        except Exception as error:
            raise _wrapped(error) from error

    def resume(self) -> None:
        """Do the work that was left."""
        if not self._has_work:
            self._has_work = True
            self._queue(self._continue)

    def close(self) -> None:
        """Finish what waits and the work that was left, then stop the thread."""
        self._closed = True
        while self._queue(lambda: self.is_busy).result():
            pass  # parts of requests and the work that was left were queued again
        self._thread.shutdown()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the store is closed")

    def _queue(self, work: Callable[[], R]) -> Future[R]:
        def job() -> R:
            self._waiting.popleft()
            return work()

        self._waiting.append(None)
        return self._thread.submit(job)

    def _watched(self, work: Callable[[], R]) -> R:
        """Run a transaction; note whether the store failed."""
        try:
            result = work()
        except Exception as error:
            self.has_failed = isinstance(error, StoreError)
            raise
        self.has_failed = False
        return result

    def _continue(self) -> None:
        self._has_work = False  # unless it succeeds: the next request tries again
        if self._watched(self._go_on):
            self.resume()

    def _write_group(self) -> None:
        """Write the next parts of as many requests as fit into a group."""
        group: list[Request] = []
        room = TOGETHER
        while self._requests and (not group or len(self._requests[0].parts[0]) <= room):
            request = self._requests.popleft()
            room -= len(request.parts[0])
            # From now on it cannot be cancelled.
            if request.future.running() or request.future.set_running_or_notify_cancel():
                group.append(request)
        if group:
            self._write(group)

    def _write(self, group: list[Request]) -> None:
        try:
            results = self._watched(partial(self._commit, group))
        except Exception as error:
            if len(group) > 1 and not isinstance(error, StoreError):
                for request in group:
                    self._write([request])
                return
            for request in group:
                _fail(request, error)
        else:
            for request, result in zip(group, results, strict=True):
                self._answer(request, result)

    def _answer(self, request: Request, result: IngestResult) -> None:
        """Take the result of a part; queue the next part, if there is one."""
        for row, point in zip(request.parts.popleft(), result.points, strict=True):
            request.points[row] = point
        if request.parts:
            self._requests.append(request)
            self._queue(self._write_group)
        else:
            request.future.set_result(IngestResult(request.points, result.model))


def _fail(request: Request, error: Exception) -> None:
    """Let a request fail whose next part was not written."""
    count = len(request.measurements)
    error, written = _wrapped(error), count - sum(map(len, request.parts))
    if written and isinstance(error, BarographError):
        error = StoreError(
            f"only {written} of {count} results were written; send all again: {error}"
        )
    request.future.set_exception(error)


def _wrapped(error: Exception) -> Exception:
    if isinstance(error, BarographError):
        return error
    wrapped = StoreError(f"nothing was written: {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped


def cut(measurements: Sequence[Measurement], size: int) -> list[Sequence[int]]:
    """Return the rows of each part, so that each series arrives in the order of its commits.

    Those without an order come last: other rows may give the order of a commit.

    Args:
        measurements: The measurements of a request.
        size: Maximum number of measurements in a part.
    """
    count = len(measurements)
    if count <= size:
        return [range(count)]

    def place(row: int) -> tuple[bool, int]:
        order = measurements[row].order
        return order is None, order if isinstance(order, int) else 0  # others will be rejected

    rows = sorted(range(count), key=place)
    return [sorted(rows[first : first + size]) for first in range(0, count, size)]
