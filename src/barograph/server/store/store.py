"""The store: points, decisions, candidates and verdicts in one database.

One thread does all writing; readers see only complete transactions.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain, islice
from typing import NamedTuple, Self, TypeVar

import sqlalchemy as sa

from barograph.detection.online import Judge
from barograph.runtime.errors import ConfigError, DataError, StoreError
from barograph.server.store import audit, life, stale
from barograph.server.store.database import (
    LOG_PAGES,
    check_space,
    connect,
    insert,
    reading,
    renew_revision,
    write_back,
    writing,
)
from barograph.server.store.ingest import Ingest
from barograph.server.store.judging import PointRows
from barograph.server.store.late import report_stored, unjudged_from
from barograph.server.store.measurement import (
    IngestResult,
    Limits,
    Measurement,
    PointResult,
    PointStatus,
)
from barograph.server.store.schema import models, state
from barograph.server.store.sqlite_file import MODE
from barograph.server.store.tables import open_tables
from barograph.server.store.writer import TOGETHER, Request, Writer

T = TypeVar("T")
PRELOAD = 200  # series that are read in one go, so that requests wait only briefly
LAST_WRITER = sa.select(state.c.writer).with_for_update()
ROOM = 40_000_000  # recent values in memory: 320 MB


class _Unanswered(NamedTuple):
    """A request, what it gets, and the points whose decisions it waits for."""

    request: Request
    result: IngestResult
    points: list[PointResult]

    def is_complete(self, left: Mapping[int, int]) -> bool:
        """Return whether the decisions are made, given from where others are left by series."""
        return all(
            point.series not in left or (point.order or 0) < left[point.series]
            for point in self.points
        )


class Store:
    """A database, and the thread that writes to it.

    Args:
        url: URL of a PostgreSQL database, or path of an SQLite file, which is created if missing.
        judge: Decides on new points. It may be replaced at any time; no transaction uses two.
            Without it the store takes no measurements.
        limits: What a request may contain.
        room: Number of recent values to hold in memory.
        log: Number of pages in SQLite's log from which a commit writes them to the database file;
            higher if another process calls `write_back`.
        mode: Permissions of a new SQLite file.
    """

    def __init__(
        self,
        url: str,
        judge: Judge | None = None,
        *,
        limits: Limits | None = None,
        room: int = ROOM,
        log: int = LOG_PAGES,
        mode: int = MODE,
    ) -> None:
        self.judge = judge
        self.limits = limits or Limits()
        self._engine = connect(url, log, mode)
        try:
            open_tables(self._engine)
        except BaseException:
            self._engine.dispose()
            raise
        self._name = uuid.uuid4().hex
        self._ingest = Ingest(self.limits, room)
        self._models: dict[tuple[str, float], int] = {}
        self._unanswered: list[_Unanswered] = []
        self._is_finishing = False  # decisions are being made again
        self._writer = Writer(self._commit)

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def close(self) -> None:
        """Write what was accepted, and close the database."""
        self._writer.close()
        with suppress(StoreError):  # nothing is lost: the log has everything
            self.write_back()
        self._engine.dispose()

    def submit(self, measurements: Iterable[Measurement], who: str) -> Future[IngestResult]:
        """Queue measurements; the future has its result once they are committed.

        A large request is committed in parts, between which others get their turn.

        Args:
            measurements: The measurements of one request.
            who: Name for the audit trail.

        Raises:
            ConfigError: The store has no judge.
            DataError: There are more measurements than `limits.batch`.
            StoreError: Too many measurements are queued, or the store is closed.
        """
        if self.judge is None:
            raise ConfigError("this store was opened without a model, so it takes no measurements")
        batch = list(measurements)
        if len(batch) > self.limits.batch:
            raise DataError(
                f"{len(batch)} measurements in one request, allowed are {self.limits.batch}"
            )
        return self._writer.submit(batch, who)

    def ingest(self, measurements: Iterable[Measurement], who: str) -> IngestResult:
        """Write and judge measurements; return once they are committed.

        Args:
            measurements: The measurements of one request.
            who: Name for the audit trail.

        Raises:
            StoreError: Nothing was written, or only parts of a large request, or decisions after
                late results are not made again yet: send it again.
        """
        return self.submit(measurements, who).result()

    def preload(self) -> None:
        """Cache what decisions need of all series, or of all that fit.

        Requests that arrive meanwhile are handled in between.
        """
        judge, last = self.judge, 0
        if judge is None:
            return

        def finish_left() -> None:
            with self.read() as connection:
                is_complete = not unjudged_from(connection)
            if not is_complete:  # since the store was last closed
                self._finish()

        # The writer reads: a reader in another thread may still hold a connection at the end.
        self._writer.run(finish_left)

        def load_chunk() -> int:
            with self._ingesting() as connection:
                return self._ingest.preload(connection, last, PRELOAD, judge.history)

        while last := self._writer.run(load_chunk):
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
        self._writer.check(lambda: self._write(lambda _: None))

    def write_back(self) -> None:
        """Write SQLite's log to the database file, as far as no reader or writer must wait."""
        write_back(self._engine)

    def write(self, work: Callable[[sa.Connection], T]) -> T:
        """Run work in a writing transaction of its own.

        It must not change series or points: they are cached, here and in other processes, and only
        `ingest` and `change` keep these caches correct.
        """
        return self._writer.run(lambda: self._write(work))

    def change(self, work: Callable[[sa.Connection], T]) -> T:
        """Run work that changes series or points in a writing transaction of its own.

        What writers have cached, in this process and in others, is read again afterwards.
        """

        def transaction() -> T:
            with self._ingesting() as connection:
                renew_revision(connection)
                result = work(connection)
            self._forget()
            return result

        return self._writer.run(transaction)

    def merge(self, source: int, target: int, who: str) -> int:
        """Move the results, candidates and verdicts of a series to another one, and delete it.

        The results are judged in their places there. Where both series have a result, it is
        treated as if it arrived again: the one measured later holds. Many results are moved in
        several transactions before the first series is deleted; repeat the call if it fails.

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
        judge = self.judge
        if judge is None:
            raise ConfigError("this store was opened without a model, so it merges no series")

        moved = self._move_early(source, target, who)

        def work(connection: sa.Connection) -> int:
            results = life.take_out(connection, source, target, who)
            self._ingest.forget()
            rows = PointRows(audit.now(), self.model(connection, judge.version, judge.threshold))
            rest = [result for result in results if result not in moved]
            taken = self._ingest.take(connection, rest, judge, rows, complete=True)
            _check_fit(taken.results)
            stale.mark(connection, [target])
            return len(results)

        return self.change(work)

    def _move_early(self, source: int, target: int, who: str) -> set[Measurement]:
        """Move many results before their series is deleted; return those that were moved."""
        with self.read() as connection:
            results = life.results_to_move(connection, source, target, self.limits)
        if len(results) <= TOGETHER:
            return set()
        # In parts, so that others need not wait. After a crash the series that ends still has its
        # results, and a merge that is repeated recognises those that were moved already.
        for first in range(0, len(results), self.limits.batch):
            _check_fit(self.ingest(results[first : first + self.limits.batch], who).points)
        return set(results)

    def model(self, connection: sa.Connection, version: str, threshold: float) -> int:
        """Return the number of a model; a new model gets one."""
        name = (version, threshold)
        if name not in self._models:
            row = {"version": version, "threshold": threshold}
            connection.execute(insert(connection, models).on_conflict_do_nothing(), row)
            number = sa.select(models.c.id).where(
                models.c.version == version, models.c.threshold == threshold
            )
            self._models[name] = connection.execute(number).scalar_one()
        return self._models[name]

    def _write(self, work: Callable[[sa.Connection], T]) -> T:
        """Do what `write` does, in the writing thread."""
        try:
            with writing(self._engine) as connection:
                if connection.scalar(LAST_WRITER) != self._name:
                    self._models.clear()  # the other process may have restored an archive
                renew_revision(connection)
                return work(connection)
        except BaseException:
            self._models.clear()  # the number of a model may have been rolled back
            raise

    def _commit(self, group: Sequence[Request]) -> Sequence[IngestResult | None]:
        """Write a group of requests in one transaction; those with decisions left get no result."""
        parts = [request.items for request in group]
        with self._judging() as (connection, judge, rows):
            taken = self._ingest.take(connection, [*chain(*parts)], judge, rows)
            points = iter(taken.results)
            results = [IngestResult([*islice(points, len(p))], judge.version) for p in parts]
            _note(connection, rows.received, group, results)
        if not taken.is_complete:
            self._finish()
        waiting = set(map(id, taken.waiting))
        answers: list[IngestResult | None] = []
        for request, result in zip(group, results, strict=True):
            left = [point for point in result.points if id(point) in waiting]
            answers.append(None if left else result)
            if left:
                self._unanswered.append(_Unanswered(request, result, left))
        return answers

    def _finish(self) -> None:
        """Start to make the decisions that are left, in slices between other work."""
        if not self._is_finishing:
            self._is_finishing = True
            self._writer.add_slice(self._go_on)

    def _go_on(self) -> None:
        """Make further decisions, and answer requests of which all are made."""
        try:
            with self._judging() as (connection, judge, rows):
                left = self._ingest.go_on(connection, judge, rows, lambda: self._writer.is_busy)
                answered = [entry for entry in self._unanswered if entry.is_complete(left)]
                report_stored(connection, [*chain(*(entry.points for entry in answered))])
        except Exception as error:
            self._is_finishing = False  # the next request tries again
            failed = StoreError(
                f"some decisions were not made again; send the request again: {error}"
            )
            for entry in self._unanswered:
                self._writer.fail(entry.request, failed)
            self._unanswered.clear()
            raise
        self._unanswered = [entry for entry in self._unanswered if not entry.is_complete(left)]
        for entry in answered:
            self._writer.answer(entry.request, entry.result)
        self._is_finishing = False
        if left:
            self._finish()

    @contextmanager
    def _judging(self) -> Iterator[tuple[sa.Connection, Judge, PointRows]]:
        """Open a transaction that judges; yield it, the judge, and the rows to write."""
        judge, timestamp = self.judge, audit.now()
        assert judge is not None  # noqa: S101 - `submit` checks it
        with self._ingesting() as connection:
            model = self.model(connection, judge.version, judge.threshold)
            yield connection, judge, PointRows(timestamp, model)

    @contextmanager
    def _ingesting(self) -> Iterator[sa.Connection]:
        """Open a transaction that uses the cache; empty it if another process ingested meanwhile.

        If the transaction fails, the cache has state that was rolled back, and is emptied too.
        """
        try:
            with writing(self._engine) as connection:
                if connection.scalar(LAST_WRITER) != self._name:
                    self._forget()
                    connection.execute(sa.update(state).values(writer=self._name))
                yield connection
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        """Empty all caches."""
        self._ingest.forget()
        self._models.clear()


def _check_fit(results: Sequence[PointResult]) -> None:
    """Check that a series has taken all results of another one."""
    refused = [result.reason for result in results if result.status is PointStatus.REJECTED]
    if refused:
        raise DataError(
            f"the series cannot be merged: {len(refused)} results do not fit, such as: {refused[0]}"
        )


def _note(
    connection: sa.Connection,
    timestamp: int,
    group: Sequence[Request],
    results: list[IngestResult],
) -> None:
    """Add one entry for each sender to the audit trail."""
    kept: dict[str, Counter[str]] = defaultdict(lambda: Counter(written=0, revised=0))
    for request, result in zip(group, results, strict=True):
        counts = {status: result.counts[status] for status in ("written", "revised")}
        if any(counts.values()):
            kept[request.who].update(counts)
    for who, written in kept.items():
        audit.note(connection, timestamp, who, "ingest", "points", **written)
