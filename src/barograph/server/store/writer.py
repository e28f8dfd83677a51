"""One thread does all writing; requests that wait together are committed together.

A large request is cut into parts with a transaction each, so that others need not wait long. If
some parts were written before an error or a crash, it is repaired when it is sent again: what the
store has is a duplicate.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

from barograph.results.series import SeriesId
from barograph.runtime.errors import BarographError, StoreError
from barograph.server.store.measurement import IngestResult, Measurement, PointResult, PointStatus

R = TypeVar("R")
Positions = list[int]
TOGETHER = 2_000  # a transaction of as many results takes a tenth of a second


@dataclass
class _Job:
    """Work with a transaction of its own."""

    work: Callable[[], object]
    future: Future[object] = field(default_factory=Future)


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
    """A queue of requests, and the thread that writes groups of them.

    Args:
        commit: Writes the next parts of a group of requests in one transaction, and returns their
            results; None if one needs further work, after which `answer` gets the result. If it
            fails because of its content, each request is retried alone.
        together: Maximum number of measurements in a part, and in a group.
        backlog: Number of measurements that may wait; beyond it requests are refused.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Request]], Sequence[IngestResult | None]],
        *,
        together: int = TOGETHER,
        backlog: int = 1_000_000,
    ) -> None:
        self._commit = commit
        self._together = together
        self._backlog = backlog
        self._queue: deque[Request | _Job] = deque()
        self._slices: deque[_Job] = deque()
        self._waiting = 0
        self._closed = False
        self._failure = ""  # of the last transaction
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="barograph-writer", daemon=True)
        self._thread.start()

    def submit(self, measurements: Sequence[Measurement], who: str) -> Future[IngestResult]:
        """Queue a request; its future has the result once all of it is committed.

        Between the parts of a large request others are written. If one fails, those after it are
        not written.
        """
        count = len(measurements)
        is_small = count <= self._together
        parts = [range(count)] if is_small else cut(measurements, self._together)
        points = [PointResult(PointStatus.REJECTED)] * count
        request = Request(who, measurements, deque(parts), points)
        with self._wake:
            if self._waiting and self._waiting + count > self._backlog:
                raise StoreError(
                    f"the store is busy: {self._waiting} measurements are waiting already"
                )
            self._put(request)
            self._waiting += count
        return request.future

    def run(self, work: Callable[[], R]) -> R:
        """Run work in the writing thread, and return its result."""
        job = _Job(work)
        with self._wake:
            self._put(job)
        return job.future.result()  # type: ignore[return-value]

    @property
    def is_busy(self) -> bool:
        """Whether requests or jobs wait."""
        return bool(self._queue)

    def add_slice(self, work: Callable[[], object]) -> None:
        """Queue a slice of a long work, which is done even if the writer is closed meanwhile.

        Requests and jobs come first, but after each of them there is one slice.
        """
        with self._wake:
            self._slices.append(_Job(work))
            self._wake.notify()

    def answer(self, request: Request, result: IngestResult) -> None:
        """Take the result of a part in the writing thread; queue the next part, if there is one."""
        for row, point in zip(request.parts.popleft(), result.points, strict=True):
            request.points[row] = point
        if request.parts:
            self._queue.append(request)  # the queue is finished even if it was closed meanwhile
        else:
            request.future.set_result(IngestResult(request.points, result.model))

    def fail(self, request: Request, error: Exception) -> None:
        """Let a request fail whose next part was not written, or not completely."""
        left = sum(map(len, request.parts))
        written, count = len(request.measurements) - left, len(request.measurements)
        with self._wake:
            self._waiting -= left - len(request.parts[0])
        if written and isinstance(error, BarographError):
            error = StoreError(
                f"only {written} of {count} results were written; send all again: {error}"
            )
        request.future.set_exception(error)

    def check(self, work: Callable[[], object]) -> None:
        """Run work if the last transaction failed, which shows whether the next one will.

        Raises:
            StoreError: It failed again, or others wait to try again.
        """
        if failure := self._failure:
            if self._queue:
                raise StoreError(failure)
            self.run(work)

    def close(self) -> None:
        """Finish the queue, then stop the thread."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join()

    def _put(self, item: Request | _Job) -> None:
        if self._closed:
            raise StoreError("the store is closed")
        self._queue.append(item)
        self._wake.notify()

    def _run(self) -> None:
        while self._wait():
            if self._queue:
                with self._wake:
                    group = self._next()
                if isinstance(group, _Job):
                    self._do(group)
                elif group:
                    self._write(group)
            if self._slices:
                self._do(self._slices.popleft())

    def _wait(self) -> bool:
        """Wait for something to do; return False once the writer is closed and all is done."""
        with self._wake:
            while not (self._queue or self._slices or self._closed):
                self._wake.wait()
            return bool(self._queue or self._slices)

    def _next(self) -> list[Request] | _Job:
        """Take the first job, or the next parts of as many requests as fit into a group."""
        first = self._queue.popleft()
        if isinstance(first, _Job):
            return first
        group, size = [first], len(first.parts[0])
        while self._queue:
            following = self._queue[0]
            if isinstance(following, _Job) or size + len(following.parts[0]) > self._together:
                break
            size += len(following.parts[0])
            group.append(following)
            self._queue.popleft()
        self._waiting -= size
        return [request for request in group if self._begin(request)]

    def _begin(self, request: Request) -> bool:
        """Return whether a request was not cancelled while it waited; from now on it cannot be."""
        if request.future.running() or request.future.set_running_or_notify_cancel():
            return True
        self._waiting -= sum(map(len, request.parts)) - len(request.parts[0])
        return False

    def _write(self, group: list[Request]) -> None:
        try:
            results = self._commit(group)
        except StoreError as error:
            self._failure = str(error)
            for request in group:
                self.fail(request, error)
        except Exception as error:
            if len(group) == 1:
                self.fail(group[0], _wrapped(error))
                return
            for request in group:
                self._write([request])
        else:
            self._failure = ""
            for request, result in zip(group, results, strict=True):
                if result is not None:
                    self.answer(request, result)

    def _do(self, job: _Job) -> None:
        try:
            result = job.work()
        except Exception as error:
            if isinstance(error, StoreError):
                self._failure = str(error)
            job.future.set_exception(_wrapped(error))
        else:
            self._failure = ""
            job.future.set_result(result)


def _wrapped(error: Exception) -> Exception:
    if isinstance(error, BarographError):
        return error
    wrapped = StoreError(f"nothing was written: {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped


def cut(measurements: Sequence[Measurement], size: int) -> list[Positions]:
    """Return the rows of each part, so that all parts together give the answers of one.

    The results of a series are in one part, or in consecutive parts by their order if there are
    more than `size`. Those without an order come last: other rows may give the order of a commit.

    Args:
        measurements: The measurements of a request.
        size: Maximum number of measurements in a part.
    """
    groups: dict[SeriesId, Positions] = {}
    without_order: Positions = []
    for row, measurement in enumerate(measurements):
        if measurement.order is None:
            without_order.append(row)
        else:
            groups.setdefault(measurement.series, []).append(row)

    def order(row: int) -> int:
        number = measurements[row].order
        return number if isinstance(number, int) else 0  # anything else is going to be rejected

    parts: list[Positions] = [[]]
    for group in (*groups.values(), without_order):
        if len(group) > size and group is not without_order:
            group.sort(key=order)
        for rows in (group[first : first + size] for first in range(0, len(group), size)):
            if len(parts[-1]) + len(rows) > size:
                parts.append([])
            parts[-1] += rows
    return [sorted(rows) for rows in parts if rows]  # in the order of their arrival
