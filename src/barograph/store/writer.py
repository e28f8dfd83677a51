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
from functools import partial
from itertools import pairwise
from typing import Generic, TypeVar

from barograph.errors import BarographError, StoreError
from barograph.series import SeriesId
from barograph.store.measurement import IngestResult, Measurement, PointResult, PointStatus

T = TypeVar("T")
A = TypeVar("A")
R = TypeVar("R")
Positions = list[int]
TOGETHER = 2_000  # a transaction of as many results takes a tenth of a second


@dataclass
class _Job:
    """Work with a transaction of its own."""

    work: Callable[[], object]
    future: Future[object] = field(default_factory=Future)


@dataclass
class Request(Generic[T, A]):
    """Items to write together with those of other requests; the future gets their own result."""

    items: Sequence[T]
    who: str
    future: Future[A] = field(default_factory=Future)


class Writer(Generic[T, A]):
    """A queue of requests, and the thread that writes groups of them.

    Args:
        commit: Writes a group of requests in one transaction, and returns their results; None if a
            request needs further work, after which its future gets the result. If it fails because
            of its content, each request is retried alone.
        together: Maximum number of items in a group, unless a single request has more.
        backlog: Number of items that may wait; beyond it requests are refused.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Request[T, A]]], Sequence[A | None]],
        *,
        together: int = TOGETHER,
        backlog: int = 1_000_000,
    ) -> None:
        self._commit = commit
        self._together = together
        self._backlog = backlog
        self._queue: deque[Request[T, A] | _Job] = deque()
        self._waiting = 0
        self._closed = False
        self._failure = ""  # of the last transaction
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="barograph-writer", daemon=True)
        self._thread.start()

    def submit(self, items: Sequence[T], who: str) -> Future[A]:
        """Queue a request; its future has the result once it is committed."""
        [future] = self.submit_parts([items], who)
        return future

    def submit_parts(self, parts: Sequence[Sequence[T]], who: str) -> list[Future[A]]:
        """Queue requests that are written one after the other, with others in between.

        If one fails, so do those after it. They must not be cancelled.
        """
        requests: list[Request[T, A]] = [Request(items, who) for items in parts]
        for request, following in pairwise(requests):
            request.future.add_done_callback(partial(self._continue, following))
        count = sum(map(len, parts))
        with self._wake:
            if self._waiting and self._waiting + count > self._backlog:
                raise StoreError(
                    f"the store is busy: {self._waiting} measurements are waiting already"
                )
            self._waiting += count
            self._put(requests[0])
        return [request.future for request in requests]

    def run(self, work: Callable[[], R]) -> R:
        """Run work in the writing thread, and return its result."""
        job = _Job(work)
        with self._wake:
            self._put(job)
        return job.future.result()  # type: ignore[return-value]

    def add(self, work: Callable[[], object]) -> None:
        """Queue further work of a request; it is done even if the writer is closed meanwhile."""
        with self._wake:
            self._queue.append(_Job(work))
            self._wake.notify()

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

    def _put(self, item: Request[T, A] | _Job) -> None:
        if self._closed:
            raise StoreError("the store is closed")
        self._queue.append(item)
        self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closed:
                    self._wake.wait()
                if not self._queue:
                    return
                group = self._next()
            if isinstance(group, _Job):
                if group.future.set_running_or_notify_cancel():
                    self._do(group)
                continue
            # Requests that were cancelled while they waited are dropped.
            live = [request for request in group if request.future.set_running_or_notify_cancel()]
            if live:
                self._write(live)

    def _continue(self, following: Request[T, A], done: Future[A]) -> None:
        """Queue the request that follows one that is done; if that failed, it fails as well."""
        error = done.exception()
        if error is None:
            self._queue.append(following)  # the queue is finished even if it was closed meanwhile
            return
        with self._wake:
            self._waiting -= len(following.items)
        following.future.set_exception(error)

    def _next(self) -> list[Request[T, A]] | _Job:
        """Take the first job, or as many of the first requests as fit into a group."""
        first = self._queue.popleft()
        if isinstance(first, _Job):
            return first
        group, size = [first], len(first.items)
        while self._queue:
            following = self._queue[0]
            if isinstance(following, _Job) or size + len(following.items) > self._together:
                break
            size += len(following.items)
            group.append(following)
            self._queue.popleft()
        self._waiting -= size
        return group

    def _write(self, group: list[Request[T, A]]) -> None:
        try:
            results = self._commit(group)
        except StoreError as error:
            self._failure = str(error)
            for request in group:
                request.future.set_exception(error)
        except Exception as error:
            if len(group) == 1:
                group[0].future.set_exception(_wrapped(error))
                return
            for request in group:
                self._write([request])
        else:
            self._failure = ""
            for request, result in zip(group, results, strict=True):
                if result is not None:
                    request.future.set_result(result)

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


def joined(
    parts: Sequence[Positions], futures: Sequence[Future[IngestResult]]
) -> Future[IngestResult]:
    """Return the future of a request whose parts are written one after the other.

    If a part fails, the result is an error that says how much was written.
    """
    whole: Future[IngestResult] = Future()
    whole.set_running_or_notify_cancel()  # what has begun cannot be cancelled

    def finish(_last: object) -> None:
        points = [PointResult(PointStatus.REJECTED)] * sum(map(len, parts))
        written = 0
        for rows, future in zip(parts, futures, strict=True):
            error = future.exception()
            if error is not None:
                whole.set_exception(_named(error, written, len(points)))
                return
            result = future.result()
            for row, point in zip(rows, result.points, strict=True):
                points[row] = point
            written += len(rows)
        whole.set_result(IngestResult(points, result.model))

    futures[-1].add_done_callback(finish)
    return whole


def _named(error: BaseException, written: int, count: int) -> BaseException:
    if not written or not isinstance(error, BarographError):
        return error
    return StoreError(f"only {written} of {count} results were written; send all again: {error}")
