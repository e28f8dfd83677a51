"""The store: points, decisions, candidates and verdicts in one database, safe against anything.

Everything that writes goes through one thread; readers see whole transactions only.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from types import TracebackType
from typing import Self, TypeVar

import sqlalchemy as sa

from barograph.detection.online import Judge
from barograph.errors import DataError, StoreError
from barograph.store import audit
from barograph.store.clock import now
from barograph.store.database import (
    LOG_PAGES,
    connect,
    insert,
    migrate,
    reading,
    write_back,
    writing,
)
from barograph.store.ingest import Ingest
from barograph.store.measurement import Limits, Measurement
from barograph.store.results import IngestResult, PointResult, Status
from barograph.store.schema import models, state
from barograph.store.stale import touch
from barograph.store.writer import Request, Writer

T = TypeVar("T")
PRELOAD = 200  # series that are read in one go: a request that comes hardly waits
LAST_WRITER = sa.select(state.c.writer).with_for_update()
ROOM = 40_000_000  # recent values in memory: 320 MB


class Store:
    """A database and the one thread that writes to it.

    Args:
        url: of a PostgreSQL database, or the path of an SQLite file; made if it is missing.
        judge: decides on new points; may be exchanged at any time, no batch is judged by two.
        limits: what a sender may ask.
        room: how many recent values are held in memory.
        log: pages of SQLite's log from which on a commit itself writes them back to their places;
            more where another process calls `write_back`.
    """

    def __init__(
        self,
        url: str,
        judge: Judge,
        *,
        limits: Limits | None = None,
        room: int = ROOM,
        log: int = LOG_PAGES,
    ) -> None:
        self.judge = judge
        self.limits = limits or Limits()
        self._engine = connect(url, log)
        try:
            migrate(self._engine)
        except BaseException:
            self._engine.dispose()
            raise
        self._name = uuid.uuid4().hex
        self._ingest = Ingest(self.limits, room)
        self._models: dict[tuple[str, float], int] = {}
        self._writer: Writer[Measurement, IngestResult] = Writer(self._commit)

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Finish what was accepted, and let go of the database."""
        self._writer.close()
        with suppress(StoreError):  # nothing is lost: the log says it all
            self.write_back()
        self._engine.dispose()

    def submit(self, measurements: Iterable[Measurement], who: str) -> Future[IngestResult]:
        """Accept measurements; the answer is there once they are committed.

        Raises:
            DataError: more measurements than `limits.batch`.
            StoreError: too many wait already, or the store is closed.
        """
        batch = list(measurements)
        if len(batch) > self.limits.batch:
            raise DataError(
                f"{len(batch)} measurements in one request, allowed are {self.limits.batch}"
            )
        return self._writer.submit(batch, who)

    def ingest(self, measurements: Iterable[Measurement], who: str) -> IngestResult:
        """Take measurements in, and return what became of each of them, and the decisions.

        Raises:
            StoreError: nothing of it was written.
        """
        return self.submit(measurements, who).result()

    def preload(self) -> None:
        """Read what decisions need before anybody waits for it: all series, or all that fit.

        Requests that come meanwhile are taken in between.
        """
        behind = 0

        def some() -> int:
            with writing(self._engine) as connection:
                self._claim(connection)
                return self._ingest.preload(connection, behind, PRELOAD, self.judge.history)

        while behind := self._writer.run(some):  # type: ignore[arg-type, assignment]
            pass

    def read(self) -> AbstractContextManager[sa.Connection]:
        """One reading transaction: all questions within it see the same moment."""
        return reading(self._engine)

    def write_back(self) -> None:
        """Write SQLite's log back to its places, as far as nobody has to wait for it."""
        write_back(self._engine)

    def write(self, work: Callable[[sa.Connection], T]) -> T:
        """Run work in a writing transaction of its own: whole, or not at all.

        It must leave the series and their points as they are: those are remembered, here and in
        other processes, and only `ingest` makes them forget.
        """

        def alone() -> T:
            try:
                with writing(self._engine) as connection:
                    _lock(connection)
                    return work(connection)
            except BaseException:
                self._models.clear()  # one that it numbered was never there
                raise

        return self._writer.run(alone)  # type: ignore[arg-type, return-value]

    def _commit(self, group: Sequence[Request[Measurement, IngestResult]]) -> list[IngestResult]:
        """Write a group of requests in one transaction."""
        judge, at = self.judge, now()
        everything = [one for request in group for one in request.items]
        try:
            with writing(self._engine) as connection:
                self._claim(connection)
                model = self._model(connection, judge)
                outcomes, changed = self._ingest.take(connection, everything, judge, model, at)
                touch(connection, changed)
                answers = _answers(group, outcomes, judge.version)
                _note(connection, at, group, answers)
        except BaseException:
            # What was remembered of this transaction never happened.
            self._ingest.forget()
            self._models.clear()
            raise
        return answers

    def _claim(self, connection: sa.Connection) -> None:
        """Wait until no other process writes; where one took points in, forget what it changed."""
        if _lock(connection) != self._name:
            self._ingest.forget()
            connection.execute(sa.update(state).values(writer=self._name))

    def _model(self, connection: sa.Connection, judge: Judge) -> int:
        """Return the number of the judge's model, given at its first decision."""
        return self.model(connection, judge.version, judge.threshold)

    def model(self, connection: sa.Connection, version: str, threshold: float) -> int:
        """Return the number of a model in the store."""
        name = (version, threshold)
        if name not in self._models:
            row = {"version": version, "threshold": threshold}
            connection.execute(insert(connection, models).on_conflict_do_nothing(), row)
            number = sa.select(models.c.id).where(
                models.c.version == version, models.c.threshold == threshold
            )
            self._models[name] = connection.execute(number).scalar_one()
        return self._models[name]


def _lock(connection: sa.Connection) -> str | None:
    """Wait until no other process writes; return the name of the one that took points in last."""
    return connection.scalar(LAST_WRITER)


def _answers(
    group: Sequence[Request[Measurement, IngestResult]], outcomes: list[PointResult], model: str
) -> list[IngestResult]:
    answers, first = [], 0
    for request in group:
        last = first + len(request.items)
        answers.append(IngestResult(outcomes[first:last], model))
        first = last
    return answers


def _note(
    connection: sa.Connection,
    at: int,
    group: Sequence[Request[Measurement, IngestResult]],
    answers: list[IngestResult],
) -> None:
    """Tell the trail who wrote how much; one entry for all that one sender had waiting."""
    wrote: dict[str, dict[str, int]] = defaultdict(lambda: {"written": 0, "revised": 0})
    for request, answer in zip(group, answers, strict=True):
        for status in (Status.WRITTEN, Status.REVISED):
            if count := answer.count(status):
                wrote[request.who][status.value] += count
    for who, counts in wrote.items():
        audit.note(connection, at, who, "ingest", "points", **counts)
