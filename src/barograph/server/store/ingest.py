"""Take a group of measurements into the store: placed, written and judged in one transaction."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import sqlalchemy as sa

from barograph.detection.online import Judge
from barograph.runtime.errors import DataError
from barograph.server.store import stale
from barograph.server.store.cache import Registry, TailCache, fits, load_tails
from barograph.server.store.judging import (
    Arrival,
    PointRows,
    Unjudged,
    UnjudgedCommit,
    UnjudgedRun,
    decide,
    name_known_changes,
    stored_value,
)
from barograph.server.store.late import (
    ChangedHistory,
    judge_again,
    note_unjudged,
    stored_values,
    unjudged_from,
    write_late,
)
from barograph.server.store.measurement import (
    Limits,
    Measurement,
    PointResult,
    PointStatus,
    fault,
    length_fault,
    order_fault,
    rerun_fault,
)

STEPS = 8  # of `JUDGED_AGAIN` results in one transaction, unless others wait
Arrived = dict[int, list[Arrival]]  # by series


class Taken(NamedTuple):
    """What became of the measurements of one transaction.

    Attributes:
        results: The result of each measurement.
        waiting: Those whose decisions are left for later transactions.
        is_complete: Whether no decision on any series is left.
    """

    results: list[PointResult]
    waiting: list[PointResult]
    is_complete: bool


class Ingest:
    """Takes measurements in, and caches what the next ones need.

    The cache must not survive a failed transaction: call `forget` after one.

    Args:
        limits: What a sender may ask.
        room: Number of recent values to hold in memory.
    """

    def __init__(self, limits: Limits, room: int) -> None:
        self.limits, self._room = limits, room
        self.forget()

    def forget(self) -> None:
        """Empty the cache."""
        self.registry = Registry()
        self.tails = TailCache(self._room)
        self._unjudged: dict[int, int] | None = None  # unknown until they are read
        self._left: dict[int, ChangedHistory] = {}  # what the last slice left

    def preload(self, connection: sa.Connection, after: int, count: int, history: int) -> int:
        """Cache the series whose numbers follow one; return the last number, 0 at the end."""
        numbers = self.registry.preload(connection, after, count)
        if not numbers or self.tails.is_full:
            return 0
        self._load(connection, numbers, history)
        return numbers[-1]

    def take(
        self,
        connection: sa.Connection,
        measurements: Sequence[Measurement],
        judge: Judge,
        rows: PointRows,
        *,
        complete: bool = False,
    ) -> Taken:
        """Write new points and judge them, and judge again the points after a late one.

        Args:
            connection: Of the writing transaction.
            measurements: The measurements of all requests of a group.
            judge: Decides.
            rows: Takes the rows of points, which are written.
            complete: Whether to leave no decision for a later transaction.
        """
        results = [PointResult(PointStatus.REJECTED) for _ in measurements]
        self.registry.new_commits.clear()
        arrived = self._locate(connection, measurements, results, judge.history)
        self._load(connection, list(arrived), judge.history)
        unjudged = self._unjudged_from(connection)
        appended: Unjudged = {}
        late: Arrived = {}
        for series, arrivals in arrived.items():
            if not self._follows(series, arrivals) or series in unjudged:
                late[series] = arrivals
            elif commits := self._append(series, arrivals, rows):
                appended[series] = commits
        changed: dict[int, ChangedHistory] = {}
        if late:
            lengths = {series: self.tails[series].count for series in late}
            changed = write_late(connection, late, lengths, unjudged, self.limits, rows)
        for series, history in changed.items():
            tail = self.tails[series]
            tail.count, tail.last = lengths[series], max(tail.last, *history.results)
        decide(connection, self.tails, appended, judge, rows)
        stale.mark(connection, appended)
        left = self._judge_again(connection, changed, judge, rows)
        while left and complete:
            left = self._judge_again(connection, left, judge, rows)
        name_known_changes(connection, results)
        if any(result.status is PointStatus.REJECTED for result in results):
            pairs = zip(measurements, results, strict=True)
            kept = [m for m, result in pairs if result.status is not PointStatus.REJECTED]
            self.registry.keep_commits(connection, {(m.series.project, m.commit) for m in kept})
        self.tails.trim()
        waiting = [result for history in left.values() for result in history.waiting]
        return Taken(results, waiting, not self._unjudged)

    def go_on(
        self,
        connection: sa.Connection,
        judge: Judge,
        rows: PointRows,
        is_enough: Callable[[], bool],
    ) -> Mapping[int, int]:
        """Make decisions that are left, until it is enough; return from where on each is left."""
        unjudged = self._unjudged_from(connection)
        left = {k: ChangedHistory(since, {}) for k, since in unjudged.items()}
        same = {k: last for k, last in self._left.items() if unjudged.get(k) == last.since}
        left |= {k: last._replace(results={}) for k, last in same.items()}
        for _ in range(STEPS):
            left = self._judge_again(connection, left, judge, rows)
            if not left or is_enough():
                break
        return self._unjudged_from(connection)

    def _judge_again(
        self,
        connection: sa.Connection,
        changed: dict[int, ChangedHistory],
        judge: Judge,
        rows: PointRows,
    ) -> dict[int, ChangedHistory]:
        """Make decisions again, as many as fit into a transaction; note and return what is left."""
        if not changed:
            return {}
        left = judge_again(connection, self.tails, changed, judge, rows)
        orders = {series: history.since for series, history in left.items()}
        unjudged = self._unjudged_from(connection)
        done = changed.keys() - left.keys()
        note_unjudged(connection, orders, done & unjudged.keys())
        self._unjudged = {k: unjudged[k] for k in unjudged.keys() - done} | orders
        stale.mark(connection, changed)
        self._left = left
        return left

    def _unjudged_from(self, connection: sa.Connection) -> dict[int, int]:
        """Return the order from which decisions are left, by series."""
        if self._unjudged is None:
            self._unjudged = unjudged_from(connection)
        return self._unjudged

    def _locate(
        self,
        connection: sa.Connection,
        measurements: Sequence[Measurement],
        results: list[PointResult],
        history: int,
    ) -> Arrived:
        """Find the series and the order of each measurement; reject those that have none."""
        valid = []
        for row, measurement in enumerate(measurements):
            results[row].reason = fault(measurement, self.limits)
            if not results[row].reason:
                valid.append(row)
        found = self.registry.find(connection, [measurements[row] for row in valid], self.limits)
        arrived: Arrived = {}
        orders: dict[tuple[str, str], int] = {}
        without_order: list[tuple[int, int, Measurement]] = []
        for row, known in zip(valid, found, strict=True):
            measurement, result = measurements[row], results[row]
            if isinstance(known, str):
                result.reason = known
                continue
            if not fits(known, measurement):
                try:
                    measurement = self.registry.fit(connection, measurement, self.limits)
                except DataError as error:
                    result.reason = str(error)
                    continue
            if measurement.order is None:
                without_order.append((known.id, row, measurement))
                continue
            arrival = Arrival(measurement.order, measurement.run, row, measurement, result)
            arrived.setdefault(known.id, []).append(arrival)
            if measurement.commit:
                commit = (measurement.series.project, measurement.commit)
                orders.setdefault(commit, measurement.order)
        self.registry.add_commits(connection, orders)
        self._refuse_other_orders(connection, arrived)
        for series, row, measurement in without_order:
            arrivals = arrived.get(series, [])
            order = self._order_of(connection, series, measurement, arrivals, history)
            arrivals.append(Arrival(order, measurement.run, row, measurement, results[row]))
            arrived[series] = arrivals
        return arrived

    def _refuse_other_orders(self, connection: sa.Connection, arrived: Arrived) -> None:
        """Refuse new results that give a commit another order than it has in its project."""
        other: dict[tuple[int, int], list[tuple[Arrival, int]]] = defaultdict(list)
        for series, arrivals in arrived.items():
            for arrival in arrivals:
                project, commit = arrival.measurement.series.project, arrival.measurement.commit
                known = self.registry.order_of(connection, project, commit) if commit else None
                if known not in (None, arrival.order):
                    other[series, arrival.order].append((arrival, known))
        stored = stored_values(connection, other)
        for (series, order), refused in other.items():
            if (series, order) in stored:  # it came before such orders were refused
                continue
            for arrival, known in refused:
                arrival.result.reason = order_fault(arrival.measurement, order, known)
                arrived[series].remove(arrival)
            if not arrived[series]:
                del arrived[series]

    def _order_of(
        self,
        connection: sa.Connection,
        series: int,
        measurement: Measurement,
        arrivals: Sequence[Arrival],
        history: int,
    ) -> int:
        """Return the order of the commit of a measurement; a new commit gets the next one."""
        commit = (measurement.series.project, measurement.commit)
        order = self.registry.order_of(connection, *commit)
        if order is None:
            self._load(connection, [series], history)
            tail = self.tails[series]
            order = max(
                self.registry.next_order(connection, measurement.series.project),
                tail.last + 1 if tail.count else 0,
                *(arrival.order + 1 for arrival in arrivals),
            )
            self.registry.add_commits(connection, {commit: order})
        return order

    def _load(self, connection: sa.Connection, numbers: list[int], history: int) -> None:
        """Read the tails that are not cached."""
        missing = [series for series in numbers if not self.tails.use(series)]
        for series, tail in load_tails(connection, missing, history).items():
            self.tails.put(series, tail)

    def _follows(self, series: int, arrivals: list[Arrival]) -> bool:
        """Sort arrivals; return whether all are of later commits than the last, each run once."""
        arrivals.sort()
        if arrivals[0].order <= self.tails[series].last:
            return False
        if len(arrivals) == 1:
            return True
        return all(arrival[:2] != following[:2] for arrival, following in pairwise(arrivals))

    def _append(
        self, series: int, arrivals: list[Arrival], rows: PointRows
    ) -> list[UnjudgedCommit]:
        """Return the commits to append to a series; reject what is beyond a limit."""
        room = self.limits.series_length - self.tails[series].count
        commits: list[UnjudgedCommit] = []
        named: list[str] = []  # the commit that each run of the last one names
        for arrival in arrivals:
            measurement, result = arrival.measurement, arrival.result
            if not commits or commits[-1].order != arrival.order:
                if len(commits) >= room:
                    result.reason = length_fault(self.limits)
                    continue
                commits.append(UnjudgedCommit(arrival.order, [], []))
                named = []
            elif reason := rerun_fault(measurement, arrival.order, named, self.limits):
                result.reason = reason
                continue
            measured = rows.measured(series, arrival)
            run = UnjudgedRun(arrival.run, stored_value(measurement), measured)
            commits[-1].runs.append(run)
            commits[-1].results.append(result)
            named.append(measurement.commit)
            result.status, result.series, result.order = PointStatus.WRITTEN, series, arrival.order
        return commits
