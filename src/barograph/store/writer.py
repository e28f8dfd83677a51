"""One thread writes; what waits together is committed together."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from barograph.errors import BarographError, StoreError

T = TypeVar("T")
A = TypeVar("A")


@dataclass
class _Job:
    """Something to be written by itself."""

    work: Callable[[], object]
    answer: Future[object] = field(default_factory=Future)


@dataclass
class Request(Generic[T, A]):
    """Items to be written together with those of other requests; each gets its own answer."""

    items: Sequence[T]
    who: str
    answer: Future[A] = field(default_factory=Future)


class Writer(Generic[T, A]):
    """A queue of requests, and the thread that takes a group of them into each transaction.

    Args:
        commit: writes a group of requests in one transaction, and returns their answers. Where it
            fails over its content, each request is tried alone, so that a bad one harms no other.
        together: how many items one group holds at most, unless a single request has more.
        backlog: how many items may wait; beyond it a request is turned away at once.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[Request[T, A]]], list[A]],
        *,
        together: int = 20_000,
        backlog: int = 1_000_000,
    ) -> None:
        self._commit = commit
        self._together = together
        self._backlog = backlog
        self._queue: deque[Request[T, A] | _Job] = deque()
        self._waiting = 0
        self._closed = False
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="barograph-writer", daemon=True)
        self._thread.start()

    def submit(self, items: Sequence[T], who: str) -> Future[A]:
        """Queue a request; its future holds the answer once it is committed."""
        request: Request[T, A] = Request(items, who)
        with self._wake:
            if self._waiting and self._waiting + len(items) > self._backlog:
                raise StoreError(f"the store is busy: {self._waiting} measurements wait already")
            self._waiting += len(items)
            self._put(request)
        return request.answer

    def run(self, work: Callable[[], T]) -> T:
        """Run something in the writing thread, alone, and return what it returns."""
        job = _Job(work)
        with self._wake:
            self._put(job)
        return job.answer.result()  # type: ignore[return-value]

    def close(self) -> None:
        """Finish what waits, then stop."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join()

    def _put(self, what: Request[T, A] | _Job) -> None:
        if self._closed:
            raise StoreError("the store is closed")
        self._queue.append(what)
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
                if group.answer.set_running_or_notify_cancel():
                    _resolve(group.answer, group.work)
                continue
            # Whoever has gone away by now is not written; from here on nobody can.
            alive = [one for one in group if one.answer.set_running_or_notify_cancel()]
            if alive:
                self._write(alive)

    def _next(self) -> list[Request[T, A]] | _Job:
        """Take the first job alone, or the requests at the front as far as they fit together."""
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
            answers = self._commit(group)
        except StoreError as error:
            for request in group:
                request.answer.set_exception(error)
        except Exception as error:
            if len(group) == 1:
                group[0].answer.set_exception(_told(error))
                return
            for request in group:
                self._write([request])
        else:
            for request, answer in zip(group, answers, strict=True):
                request.answer.set_result(answer)


def _resolve(answer: Future[object], work: Callable[[], object]) -> None:
    try:
        answer.set_result(work())
    except Exception as error:
        answer.set_exception(_told(error))


def _told(error: Exception) -> Exception:
    if isinstance(error, BarographError):
        return error
    wrapped = StoreError(f"nothing was written: {type(error).__name__}: {error}")
    wrapped.__cause__ = error
    return wrapped
