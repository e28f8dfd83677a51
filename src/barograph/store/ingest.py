"""Take a group of measurements into the store: placed, written and judged in one transaction."""

from collections.abc import Container, Sequence
from itertools import pairwise
from typing import NamedTuple

import sqlalchemy as sa

from barograph.detection.online import Judge
from barograph.errors import DataError
from barograph.series import LARGEST_ORDER, ORDER_HINT, SeriesId
from barograph.store import stale
from barograph.store.cache import Registry, TailCache, fits, load_tails
from barograph.store.judging import (
    PointRows,
    Unjudged,
    UnjudgedCommit,
    UnjudgedRun,
    decide,
    name_known_changes,
    stored_value,
)
from barograph.store.late import (
    ChangedHistory,
    Changes,
    StoredRuns,
    StoredValue,
    StoredValues,
    judge_again,
    note_unjudged,
    stored_values,
    unjudged_from,
    upsert,
)
from barograph.store.measurement import (
    Entry,
    Limits,
    Measurement,
    PointResult,
    PointStatus,
    commit_fault,
    fault,
    rerun_fault,
    series_fault,
)
from barograph.store.reading import StoredSeries

Arrived = dict[int, list[Entry]]  # by series


class Taken(NamedTuple):
    """What became of the measurements of one transaction.

    Attributes:
        results: The result of each measurement.
        waiting: Those whose decisions are left for later transactions.
        unfinished: All series of which decisions are left.
    """

    results: list[PointResult]
    waiting: list[PointResult]
    unfinished: set[int]


class Ingest:
    """Takes measurements in, and caches what the next ones need.

    The cache must not survive a failed transaction: call `forget` after one.

    Args:
        limits: What a sender may ask.
        room: Number of recent values to hold in memory.
    """

    def __init__(self, limits: Limits, room: int) -> None:
        self.limits = limits
        self.registry = Registry()
        self.tails = TailCache(room)
        self._unjudged: dict[int, int] | None = None  # unknown until they are read

    def forget(self) -> None:
        """Empty the cache."""
        self.registry.clear()
        self.tails.clear()
        self._unjudged = None

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
        model: int,
        timestamp: int,
        *,
        complete: bool = False,
    ) -> Taken:
        """Write new points and judge them, and judge again the points after a late one.

        Args:
            connection: Of the writing transaction.
            measurements: The measurements of all requests of a group.
            judge: Decides.
            model: Number of its model.
            timestamp: Time of arrival.
            complete: Whether to leave no decision for a later transaction.
        """
        measurements = list(measurements)  # some are replaced, in the unit of their series
        results = [PointResult(PointStatus.REJECTED) for _ in measurements]
        arrived = self._locate(connection, measurements, results, judge.history)
        self._load(connection, list(arrived), judge.history)
        rows, unjudged = PointRows(timestamp, model), self._unjudged_from(connection)
        appended: Unjudged = {}
        late: Arrived = {}
        for series, entries in arrived.items():
            if not self._follows(series, entries) or series in unjudged:
                late[series] = entries
            elif commits := self._append(series, entries, measurements, rows, results):
                appended[series] = commits
        changed = self._write_late(connection, late, measurements, rows, results)
        decide(connection, self.tails, appended, judge, rows)
        stale.mark(connection, appended)
        left = self._judge_again(connection, changed, judge, rows)
        while left and complete:
            left = self._judge_again(connection, left, judge, rows)
        name_known_changes(connection, results)
        self.tails.trim()
        waiting = [result for history in left.values() for result in history.waiting]
        return Taken(results, waiting, (unjudged.keys() - changed.keys()) | left.keys())

    def go_on(
        self,
        connection: sa.Connection,
        numbers: Container[int],
        judge: Judge,
        model: int,
        timestamp: int,
    ) -> bool:
        """Make further decisions on some series again; return whether all are made."""
        changed = {
            series: ChangedHistory(since, {})
            for series, since in self._unjudged_from(connection).items()
            if series in numbers
        }
        return not self._judge_again(connection, changed, judge, PointRows(timestamp, model))

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
        return left

    def _unjudged_from(self, connection: sa.Connection) -> dict[int, int]:
        """Return the order from which decisions are left, by series."""
        if self._unjudged is None:
            self._unjudged = unjudged_from(connection)
        return self._unjudged

    def _locate(
        self,
        connection: sa.Connection,
        measurements: list[Measurement],
        results: list[PointResult],
        history: int,
    ) -> Arrived:
        """Find the series and the order of each measurement; reject those that have none."""
        valid = []
        for row, measurement in enumerate(measurements):
            results[row].reason = fault(measurement, self.limits)
            if not results[row].reason:
                valid.append(row)
        numbers, refused = self._numbers(connection, [measurements[row] for row in valid])
        arrived: Arrived = {}
        orders: dict[tuple[str, str], int] = {}
        without_order: list[int] = []
        for row, known in zip(valid, numbers, strict=True):
            measurement = measurements[row]
            if known is None:
                results[row].reason = refused[measurement.series]
                continue
            if not fits(known, measurement):
                results[row].reason = self._fit(connection, measurements, row)
                if results[row].reason:
                    continue
            if measurement.order is None:
                without_order.append(row)
            else:
                entry = Entry(measurement.order, measurement.run, row)
                arrived.setdefault(known.id, []).append(entry)
                if measurement.commit:
                    commit = (measurement.series.project, measurement.commit)
                    orders.setdefault(commit, measurement.order)
        self.registry.add_commits(connection, orders)
        for row in without_order:
            results[row].reason = self._locate_by_commit(
                connection, row, measurements[row], arrived, history
            )
        return arrived

    def _fit(self, connection: sa.Connection, measurements: list[Measurement], row: int) -> str:
        """Replace a measurement by that in the unit of its series; return why it is refused."""
        try:
            measurements[row] = self.registry.fit(connection, measurements[row], self.limits)
        except DataError as error:
            return str(error)
        return ""

    def _numbers(
        self, connection: sa.Connection, measurements: list[Measurement]
    ) -> tuple[list[StoredSeries | None], dict[SeriesId, str]]:
        """Return the series of each measurement, creating missing ones, or why it is refused."""
        self.registry.trim()
        names = [measurement.series for measurement in measurements]
        cached = self.registry.known(names)
        if None not in cached:
            return cached, {}
        unknown = {name: None for name, known in zip(names, cached, strict=True) if known is None}
        reasons = {name: series_fault(name, self.limits) for name in unknown}
        refused = {name: reason for name, reason in reasons.items() if reason}
        self.registry.look_up(connection, (name for name in unknown if name not in refused))
        new: dict[SeriesId, Measurement] = {}
        for measurement, known in zip(measurements, self.registry.known(names), strict=True):
            if known is None and measurement.series not in refused:
                new.setdefault(measurement.series, measurement)
        self.registry.add(connection, new)
        return self.registry.known(names), refused

    def _locate_by_commit(
        self,
        connection: sa.Connection,
        row: int,
        measurement: Measurement,
        arrived: Arrived,
        history: int,
    ) -> str:
        """Give a measurement without an order that of its commit, or the next one.

        Returns:
            Why it is refused, or an empty text.
        """
        commit = (measurement.series.project, measurement.commit)
        number = self.registry.number(measurement.series)
        order = self.registry.order_of(connection, *commit)
        if order is None:
            self._load(connection, [number], history)
            tail = self.tails[number]
            order = max(
                self.registry.next_order(connection, measurement.series.project),
                tail.last + 1 if tail.count else 0,
                *(entry.order + 1 for entry in arrived.get(number, ())),
            )
            if order > LARGEST_ORDER:
                return f"order: the next one is {order}; {ORDER_HINT}"
            self.registry.add_commits(connection, {commit: order})
        arrived.setdefault(number, []).append(Entry(order, measurement.run, row))
        return ""

    def _load(self, connection: sa.Connection, numbers: list[int], history: int) -> None:
        """Read the tails that are not cached."""
        missing = [series for series in numbers if not self.tails.use(series)]
        for series, tail in load_tails(connection, missing, history).items():
            self.tails.put(series, tail)

    def _follows(self, series: int, entries: list[Entry]) -> bool:
        """Sort entries; return whether all are of later commits than the last, each run once."""
        entries.sort()
        if entries[0].order <= self.tails[series].last:
            return False
        if len(entries) == 1:
            return True
        return all(entry[:2] != following[:2] for entry, following in pairwise(entries))

    def _append(
        self,
        series: int,
        entries: list[Entry],
        measurements: Sequence[Measurement],
        rows: PointRows,
        results: list[PointResult],
    ) -> list[UnjudgedCommit]:
        """Return the commits to append to a series; reject what is beyond a limit."""
        room = self.limits.series_length - self.tails[series].count
        commits: list[UnjudgedCommit] = []
        for entry in entries:
            measurement, result = measurements[entry.row], results[entry.row]
            measured = rows.measured(series, entry, measurement)
            value = stored_value(measurement)
            if commits and commits[-1].order == entry.order:
                result.reason = rerun_fault(
                    measurement, entry.order, commits[-1].commits, self.limits
                )
                if not result.reason:
                    rerun = UnjudgedRun(entry.run, value, measured)
                    commits[-1] = commits[-1].with_rerun(rerun, result)
            elif len(commits) < room:
                commits.append(UnjudgedCommit(entry.order, entry.run, value, measured, (result,)))
            else:
                result.reason = self._too_long
            if not result.reason:
                result.status, result.series = PointStatus.WRITTEN, series
                result.order = entry.order
        return commits

    @property
    def _too_long(self) -> str:
        return f"series: has {self.limits.series_length} commits, and no more are allowed"

    def _write_late(
        self,
        connection: sa.Connection,
        late: Arrived,
        measurements: Sequence[Measurement],
        rows: PointRows,
        results: list[PointResult],
    ) -> dict[int, ChangedHistory]:
        """Add or revise points of series; return what must be judged again."""
        if not late:
            return {}
        unjudged, changes = self._unjudged_from(connection), Changes(rows)
        stored = stored_values(
            connection, {(series, entry.order) for series in late for entry in late[series]}
        )
        histories = {
            series: self._upsert(
                series, entries, measurements, stored, changes, results, unjudged.get(series)
            )
            for series, entries in late.items()
        }
        changes.write(connection)
        return {series: history for series, history in histories.items() if history is not None}

    def _upsert(
        self,
        series: int,
        entries: list[Entry],
        measurements: Sequence[Measurement],
        stored: StoredValues,
        changes: Changes,
        results: list[PointResult],
        since: int | None,
    ) -> ChangedHistory | None:
        """Add or revise points of a series; return from which order it must be judged again.

        `since` is the order from which it must be in any case.
        """
        count = self.tails[series].count
        accepted: dict[int, list[PointResult]] = {}
        for entry in entries:
            measurement, runs = measurements[entry.row], stored[series, entry.order]
            is_new = entry.run not in runs
            reason = self._fault(measurement, entry, runs, count)
            if reason:
                results[entry.row].reason = reason
                continue
            result, changed = upsert(series, entry, measurement, runs, changes)
            results[entry.row] = result
            if is_new:
                count += not runs
                runs[entry.run] = StoredValue(
                    measurement.commit, measurement.time, stored_value(measurement)
                )
            accepted.setdefault(entry.order, []).append(result)
            if changed and (since is None or entry.order < since):
                since = entry.order
        return None if since is None else ChangedHistory(since, accepted)

    def _fault(self, measurement: Measurement, entry: Entry, runs: StoredRuns, count: int) -> str:
        """Return why a measurement is refused, given what the store has of its commit."""
        if not runs:
            return self._too_long if count >= self.limits.series_length else ""
        commits = [stored.commit for stored in runs.values()]
        if entry.run in runs:
            return commit_fault(measurement, entry.order, commits)
        return rerun_fault(measurement, entry.order, commits, self.limits)
