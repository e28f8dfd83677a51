"""The store: points, decisions, candidates and verdicts in one database.

One thread does all writing, in the order of asking; readers see only complete transactions.
A large request is written in parts with a transaction each, so that others need not wait long. If
some parts were written before an error or a crash, it is repaired when it is sent again: what the
store has is a duplicate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import Self, TypeVar

import sqlalchemy as sa

from barograph.detection.online import Judge
from barograph.runtime.errors import BarographError, ConfigError, DataError, StoreError
from barograph.server.store import audit, decide, life
from barograph.server.store.database import (
    MODE,
    check_space,
    chunks,
    connect,
    insert,
    open_tables,
    reading,
    renew_revision,
    writing,
)
from barograph.server.store.ingest import Ingest
from barograph.server.store.measurement import (
    IngestResult,
    Limits,
    Measurement,
    PointResult,
    PointStatus,
)
from barograph.server.store.schema import models, state

T = TypeVar("T")
TOGETHER = 2_000  # a transaction of as many results takes about half a second


class Writer:
    """A thread that does jobs in the order of asking.

    Args:
        go_on: Does work that was left, in a transaction of its own, and returns whether any
            remains. It takes turns with what waits until nothing remains.

    Attributes:
        has_failed: Whether the store failed in the last transaction.
    """

    def __init__(self, go_on: Callable[[], bool]) -> None:
        self._go_on = go_on
        self._thread = ThreadPoolExecutor(1, "barograph-writer")
        self._waiting: deque[None] = deque()  # an entry for each job
        self._has_work = self.has_failed = False
        self._thread.submit(int)  # starts it now, with the priority that its creator has now

    @property
    def is_busy(self) -> bool:
        """Whether jobs wait."""
        return bool(self._waiting)

    def run(self, work: Callable[[], T]) -> T:
        """Run work in the writing thread, and return its result."""
        try:
            return self._queue(partial(self._watched, work)).result()
        except BarographError:
            raise
        except Exception as error:
            text = f"nothing was written: {type(error).__name__}: {error}"
            raise StoreError(text) from error

    def resume(self) -> None:
        """Do the work that was left."""
        if not self._has_work:
            self._has_work = True
            self._queue(self._continue)

    def close(self) -> None:
        """Finish what waits and the work that was left, then stop the thread."""
        while self._queue(lambda: self.is_busy).result():
            pass  # the work that was left was queued again
        self._thread.shutdown()

    def _queue(self, work: Callable[[], T]) -> Future[T]:
        def job() -> T:
            self._waiting.popleft()
            return work()

        self._waiting.append(None)
        try:
            return self._thread.submit(job)
        except RuntimeError as error:
            raise StoreError("the store is closed") from error

    def _watched(self, work: Callable[[], T]) -> T:
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


class Store:
    """A database, and the thread that writes to it.

    Args:
        url: URL of a PostgreSQL database, or path of an SQLite file, which is created if missing.
        judge: Decides on new points. It may be replaced at any time; no transaction uses two.
            Without it the store takes no measurements.
        limits: What a request may contain.
        mode: Permissions of a new SQLite file.
    """

    def __init__(
        self,
        url: str,
        judge: Judge | None = None,
        *,
        limits: Limits | None = None,
        mode: int = MODE,
    ) -> None:
        self.limits = limits or Limits()
        self._engine = connect(url, mode)
        try:
            open_tables(self._engine)
        except BaseException:
            self._engine.dispose()
            raise
        self._writer = Writer(self._decide_left)
        self.judge = judge

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    @property
    def judge(self) -> Judge | None:
        """Decides on new points; it makes decisions that an earlier process has left."""
        return self._judge

    @judge.setter
    def judge(self, judge: Judge | None) -> None:
        self._judge = judge
        if judge is not None:
            self._writer.resume()

    def close(self) -> None:
        """Write what was accepted, make the decisions that are left, and close the database."""
        self._writer.close()
        self._engine.dispose()

    def ingest(self, measurements: Iterable[Measurement], who: str) -> IngestResult:
        """Write and judge measurements; return once they are committed.

        A large request is committed in parts, between which others get their turn.

        Args:
            measurements: The measurements of one request.
            who: Name for the audit trail.

        Raises:
            ConfigError: The store has no judge.
            DataError: There are more measurements than `limits.batch`.
            StoreError: Nothing was written, or only parts of a large request: send it again.
        """
        self._needed_judge()
        batch = list(measurements)
        if len(batch) > self.limits.batch:
            raise DataError(
                f"{len(batch)} measurements in one request, allowed are {self.limits.batch}"
            )
        result = IngestResult([], "")
        points: list[PointResult] = []
        for part in chunks(batch, TOGETHER) if batch else [batch]:
            try:
                result = self._writer.run(partial(self._commit, part, who))
            except BarographError as error:
                if not points:
                    raise
                written = f"only {len(points)} of {len(batch)} results were written"
                raise StoreError(f"{written}; send all again: {error}") from error
            points += result.points
        return IngestResult(points, result.model)

    def finish(self) -> None:
        """Wait until no decision is pending, or raise the error that prevents it."""
        while self._judge is not None and self._writer.run(self._decide_left):
            pass

    def read(self) -> AbstractContextManager[sa.Connection]:
        """Open a reading transaction: all queries in it see the same state."""
        return reading(self._engine)

    def check(self) -> None:
        """Check that the store can be read, has space, and can be written if the last write failed.

        Raises:
            StoreError: It cannot, for example because the disk is full.
        """
        with self.read() as connection:
            connection.scalar(sa.select(state.c.id))
            check_space(connection)
        if self._writer.has_failed:
            self.write(lambda _: None)

    def write(self, work: Callable[[sa.Connection], T]) -> T:
        """Run work in a writing transaction of its own."""

        def transaction() -> T:
            with writing(self._engine) as connection:
                renew_revision(connection)
                return work(connection)

        return self._writer.run(transaction)

    def merge(self, source: int, target: int, who: str) -> int:
        """Move the results, candidates and verdicts of a series to another one, and delete it.

        The results are judged in their places there. Where both series have a result, it is
        treated as if it arrived again: the one measured later holds.

        Args:
            source: Number of the series that ends.
            target: Number of the series that stays.
            who: Name for the audit trail.

        Returns:
            The number of results that were moved.

        Raises:
            ConfigError: The store has no judge.
            DataError: The series do not fit together; nothing is changed.
        """
        judge = self._needed_judge()

        def work(connection: sa.Connection) -> int:
            results = life.take_out(connection, source, target, who)
            points, _ = self._take(connection, judge, results)
            refused = [point.reason for point in points if point.status is PointStatus.REJECTED]
            if refused:
                raise DataError(
                    f"the series cannot be merged: {len(refused)} results do not fit, such as: "
                    f"{refused[0]}"
                )
            return len(results)

        moved = self.write(work)
        self._writer.resume()
        return moved

    def model(self, connection: sa.Connection, version: str, threshold: float) -> int:
        """Return the number of a model; a new model gets one."""
        m = models.c
        number = sa.select(m.id).where(m.version == version, m.threshold == threshold)
        known: int | None = connection.scalar(number)
        if known is None:
            row = {"version": version, "threshold": threshold}
            connection.execute(insert(connection, models).on_conflict_do_nothing(), row)
            known = connection.execute(number).scalar_one()
        return known

    def _needed_judge(self) -> Judge:
        if self._judge is None:
            raise ConfigError("this store was opened without a model, so it judges no results")
        return self._judge

    def _take(
        self, connection: sa.Connection, judge: Judge, measurements: Sequence[Measurement]
    ) -> tuple[list[PointResult], bool]:
        """Write measurements; return their results, and whether decisions are left."""
        model = self.model(connection, judge.version, judge.threshold)
        return Ingest(connection, judge, model, self.limits, audit.now()).take(measurements)

    def _commit(self, measurements: Sequence[Measurement], who: str) -> IngestResult:
        """Write measurements in one transaction, with an entry in the audit trail."""
        judge = self._needed_judge()
        with writing(self._engine) as connection:
            points, is_left = self._take(connection, judge, measurements)
            result = IngestResult(points, judge.version)
            counts = {name: result.counts[name] for name in ("written", "revised")}
            if any(counts.values()):
                audit.note(connection, audit.now(), who, "ingest", "points", **counts)
        if is_left:
            self._writer.resume()
        return result

    def _decide_left(self) -> bool:
        """Make decisions that are left; return whether any remain."""
        judge = self._judge
        if judge is None:
            return False
        with reading(self._engine) as connection:
            if not decide.any_left(connection):
                return False
        with writing(self._engine) as connection:
            model = self.model(connection, judge.version, judge.threshold)
            return decide.decide_left(connection, judge, model, lambda: self._writer.is_busy)
