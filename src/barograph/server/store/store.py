"""The store: points, decisions, candidates and verdicts in one database.

One thread does all writing; readers see only complete transactions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import Self, TypeVar

import sqlalchemy as sa

from barograph.detection.online import Judge
from barograph.runtime.errors import ConfigError, DataError
from barograph.server.store import audit, decide, life
from barograph.server.store.database import (
    MODE,
    check_space,
    connect,
    insert,
    reading,
    renew_revision,
    writing,
)
from barograph.server.store.ingest import Ingest
from barograph.server.store.measurement import IngestResult, Limits, Measurement, PointStatus
from barograph.server.store.schema import models, state
from barograph.server.store.tables import open_tables
from barograph.server.store.writer import Request, Writer

T = TypeVar("T")


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
        self._writer = Writer(self._commit, self._decide_left)
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

    def submit(self, measurements: Iterable[Measurement], who: str) -> Future[IngestResult]:
        """Queue measurements; the future has its result once they are committed.

        A large request is committed in parts, between which others get their turn.

        Args:
            measurements: The measurements of one request.
            who: Name for the audit trail.

        Raises:
            ConfigError: The store has no judge.
            DataError: There are more measurements than `limits.batch`.
            StoreError: The store is closed.
        """
        self._needed_judge()
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
            StoreError: Nothing was written, or only parts of a large request: send it again.
        """
        return self.submit(measurements, who).result()

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
        return self._writer.run(lambda: self._write(work))

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
            points, _ = self._ingest(connection, judge).take(results)
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

    def _ingest(self, connection: sa.Connection, judge: Judge) -> Ingest:
        model = self.model(connection, judge.version, judge.threshold)
        return Ingest(connection, judge, model, self.limits, audit.now())

    def _write(self, work: Callable[[sa.Connection], T]) -> T:
        """Do what `write` does, in the writing thread."""
        with writing(self._engine) as connection:
            renew_revision(connection)
            return work(connection)

    def _commit(self, group: Sequence[Request]) -> Sequence[IngestResult]:
        """Write a group of requests in one transaction."""
        judge = self._needed_judge()
        parts = [request.items for request in group]
        with writing(self._engine) as connection:
            taken, is_left = self._ingest(connection, judge).take([*chain(*parts)])
            points = iter(taken)
            results = [IngestResult([*islice(points, len(p))], judge.version) for p in parts]
            _note(connection, group, results)
        if is_left:
            self._writer.resume()
        return results

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


def _note(
    connection: sa.Connection, group: Sequence[Request], results: Sequence[IngestResult]
) -> None:
    """Add one entry for each sender to the audit trail."""
    kept: dict[str, Counter[str]] = defaultdict(lambda: Counter(written=0, revised=0))
    for request, result in zip(group, results, strict=True):
        counts = {status: result.counts[status] for status in ("written", "revised")}
        if any(counts.values()):
            kept[request.who].update(counts)
    for who, written in kept.items():
        audit.note(connection, audit.now(), who, "ingest", "points", **written)
