"""Take a group of measurements into the store: placed, written and judged in one transaction."""

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

import sqlalchemy as sa

from barograph.detection.online import Judge, PendingSeries
from barograph.series import Direction, SeriesId
from barograph.store.measurement import Limits, Measurement, fault, series_fault
from barograph.store.registry import Known, Registry
from barograph.store.results import PointResult, PointStatus, StepRecord
from barograph.store.rows import Row
from barograph.store.steps import STEP, keys_near_end, load_states, rewind_steps, step_rows
from barograph.store.tail import (
    Key,
    SeriesTail,
    TailCache,
    is_block_due,
    load_since,
    load_tails,
    write_blocks,
)
from barograph.store.upsert import (
    NEW_POINT,
    OTHER_DECISION,
    Changes,
    Entry,
    StoredValue,
    StoredValues,
    stored_values,
    upsert,
)

REJUDGED_TOGETHER = 20_000  # stored points that are read and judged in one go


class UnjudgedPoint(NamedTuple):
    """A point to be judged.

    Attributes:
        key: Order and run.
        value: Value.
        measured: The columns to insert; None if the point is stored and only its decision changes.
        results: The results that report the decision.
    """

    key: Key
    value: float
    measured: Row | None
    results: Sequence[PointResult]


class ChangedHistory(NamedTuple):
    """The first point from which a series must be judged again, and the results to update."""

    since: Key
    results: dict[Key, list[PointResult]]


Unjudged = dict[int, list[UnjudgedPoint]]  # by series, each in the order of its points
Arrived = dict[int, list[Entry]]  # by series


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

    def forget(self) -> None:
        """Empty the cache."""
        self.registry.clear()
        self.tails.clear()

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
        at: int,
    ) -> tuple[list[PointResult], list[int]]:
        """Write new points and judge them, and judge again the points after a late one.

        Args:
            connection: Of the writing transaction.
            measurements: The measurements of all requests of a group.
            judge: Decides.
            model: Number of its model.
            at: Time of arrival.

        Returns:
            The result of each measurement, and the series whose history changed.
        """
        results = [PointResult(PointStatus.REJECTED) for _ in measurements]
        arrived = self._locate(connection, measurements, results, judge.history)
        self._load(connection, list(arrived), judge.history)
        late = {series for series, entries in arrived.items() if not self._follows(series, entries)}
        stored = stored_values(
            connection, {(series, entry.order) for series in late for entry in arrived[series]}
        )
        changes = Changes(at, model)
        appended: Unjudged = {}
        changed: dict[int, ChangedHistory] = {}
        for series, entries in arrived.items():
            if series in late:
                history = self._upsert(series, entries, measurements, stored, changes, results)
                if history is not None:
                    changed[series] = history
            elif points := self._append(series, entries, measurements, changes, results):
                appended[series] = points
        changes.write(connection)
        for unjudged in chain([appended], self._rewound(connection, changed, judge.history)):
            self._judge(connection, unjudged, judge, changes)
        self.tails.trim()
        return results, [*appended, *changed]

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
        numbers, refused = self._numbers(connection, [measurements[row] for row in valid])
        arrived: Arrived = {}
        orders: dict[tuple[str, str], int] = {}
        without_order: list[int] = []
        for row, known in zip(valid, numbers, strict=True):
            measurement = measurements[row]
            if known is None:
                results[row].reason = refused[measurement.series]
                continue
            number, direction = known
            if measurement.direction and measurement.direction != direction:
                direction = self.registry.add_direction(connection, measurement)
                if measurement.direction != direction:
                    results[row].reason = (
                        f"direction: {int(measurement.direction)}, but the series has "
                        f"{int(direction)}"
                    )
                    continue
            if measurement.order is None:
                without_order.append(row)
            else:
                entry = Entry(measurement.order, measurement.run, row)
                arrived.setdefault(number, []).append(entry)
                if measurement.commit:
                    commit = (measurement.series.project, measurement.commit)
                    orders.setdefault(commit, measurement.order)
        self.registry.add_commits(connection, orders)
        for row in without_order:
            self._locate_by_commit(connection, row, measurements[row], arrived, history)
        return arrived

    def _numbers(
        self, connection: sa.Connection, measurements: list[Measurement]
    ) -> tuple[list[Known | None], dict[SeriesId, str]]:
        """Return the series of each measurement, creating missing ones, or why it is refused."""
        self.registry.trim()
        names = [measurement.series for measurement in measurements]
        found = self.registry.known(names)
        if None not in found:
            return found, {}
        unknown = {name: None for name, known in zip(names, found, strict=True) if known is None}
        reasons = {name: series_fault(name, self.limits) for name in unknown}
        refused = {name: reason for name, reason in reasons.items() if reason}
        self.registry.look_up(connection, (name for name in unknown if name not in refused))
        new: dict[SeriesId, Direction] = {}
        for measurement, known in zip(measurements, self.registry.known(names), strict=True):
            name = measurement.series
            if known is None and name not in refused:
                new[name] = new.get(name) or measurement.direction
        self.registry.add(connection, new)
        return self.registry.known(names), refused

    def _locate_by_commit(
        self,
        connection: sa.Connection,
        row: int,
        measurement: Measurement,
        arrived: Arrived,
        history: int,
    ) -> None:
        """Give a measurement without an order that of its commit, or the next one."""
        commit = (measurement.series.project, measurement.commit)
        number = self.registry.number(measurement.series)
        order = self.registry.order_of(connection, *commit)
        if order is None:
            self._load(connection, [number], history)
            tail = self.tails[number]
            order = max(
                self.registry.next_order(connection, measurement.series.project),
                tail.last[0] + 1 if tail.count else 0,
                *(entry.order + 1 for entry in arrived.get(number, ())),
            )
            self.registry.add_commits(connection, {commit: order})
        arrived.setdefault(number, []).append(Entry(order, measurement.run, row))

    def _load(self, connection: sa.Connection, wanted: list[int], history: int) -> None:
        """Read the tails that are not cached."""
        missing = [series for series in wanted if not self.tails.use(series)]
        states = load_states(connection, missing)
        for series, tail in load_tails(connection, missing, history).items():
            tail.state = states.get(series)
            self.tails.put(series, tail)

    def _follows(self, series: int, entries: list[Entry]) -> bool:
        """Sort entries; return whether they follow the last point, each the one before it."""
        entries.sort()
        last = self.tails[series].last
        for order, run, _ in entries:
            if (order, run) <= last:
                return False
            last = (order, run)
        return True

    def _append(
        self,
        series: int,
        entries: list[Entry],
        measurements: Sequence[Measurement],
        changes: Changes,
        results: list[PointResult],
    ) -> list[UnjudgedPoint]:
        """Return the points to append to a series; reject those beyond its maximum length."""
        room = max(0, self.limits.series_length - self.tails[series].count)
        for entry in entries[room:]:
            results[entry.row].reason = self._too_long
        points = []
        for entry in entries[:room]:
            measurement, result = measurements[entry.row], results[entry.row]
            result.status, result.series, result.order = PointStatus.WRITTEN, series, entry.order
            measured = changes.measured(series, entry, measurement)
            points.append(UnjudgedPoint(entry.key, float(measurement.value), measured, (result,)))
        return points

    @property
    def _too_long(self) -> str:
        return f"series: has {self.limits.series_length} points, and no more are allowed"

    def _upsert(
        self,
        series: int,
        entries: list[Entry],
        measurements: Sequence[Measurement],
        stored: StoredValues,
        changes: Changes,
        results: list[PointResult],
    ) -> ChangedHistory | None:
        """Add or revise points of a series; return from which point its history changes."""
        count = self.tails[series].count
        since: Key | None = None
        accepted: dict[Key, list[PointResult]] = {}
        for entry in entries:
            measurement = measurements[entry.row]
            place = (series, entry.order, entry.run)
            before = stored.get(place)
            if before is None and count >= self.limits.series_length:
                results[entry.row].reason = self._too_long
                continue
            result, changed = upsert(series, entry, measurement, before, changes)
            results[entry.row] = result
            if before is None:
                count += 1
                stored[place] = StoredValue(
                    measurement.commit, measurement.time, float(measurement.value)
                )
            if result.status is not PointStatus.REJECTED:
                accepted.setdefault(entry.key, []).append(result)
            if changed and since is None:
                since = entry.key
        return None if since is None else ChangedHistory(since, accepted)

    def _rewound(
        self, connection: sa.Connection, changed: dict[int, ChangedHistory], history: int
    ) -> Iterator[Unjudged]:
        """Take the cached tails back to where histories change; yield the points from there on."""
        unjudged: Unjudged = {}
        count = 0
        for series, (since, results) in changed.items():
            tail, points = load_since(connection, series, since, history)
            tail.state = rewind_steps(connection, series, since)
            self.tails.put(series, tail)
            unjudged[series] = [
                UnjudgedPoint(key, value, None, results.get(key, ())) for key, value in points
            ]
            count += len(points)
            if count >= REJUDGED_TOGETHER:
                yield unjudged
                unjudged, count = {}, 0
        yield unjudged

    def _judge(
        self, connection: sa.Connection, unjudged: Unjudged, judge: Judge, changes: Changes
    ) -> None:
        """Judge points that follow the cached tails; write the decisions and extend the tails."""
        if not unjudged:
            return
        judged = judge.judge([self._pending(*item) for item in unjudged.items()])
        decisions = judged.rows
        new: list[Row] = []
        again: list[Row] = []
        for series, points in unjudged.items():
            for point, decision in zip(points, decisions, strict=False):
                if point.measured is not None:
                    new.append(point.measured + changes.decided(decision))
                else:
                    again.append((series, *point.key, *changes.decided(decision)))
                for result in point.results:
                    result.probability, result.is_change, result.baseline_size = decision
        NEW_POINT.into(connection, new)
        OTHER_DECISION.into(connection, again)
        steps: list[Row] = []
        due: list[tuple[int, SeriesTail]] = []
        # There are no logs without a second look.
        ends = zip_longest(unjudged.items(), judged.starts, judged.logs)
        for (series, points), start, log in ends:
            tail = self.tails.accept(series, len(points), start, points[-1].key, judge.history)
            tail.state = None if log is None else log.state
            rewritten = points[0].measured is None  # its block may hold superseded values
            if rewritten or is_block_due(series, tail.count - len(points), tail.count):
                due.append((series, tail))
            records: dict[Key, StepRecord] = {}
            if log is not None and log.steps:
                key_at = keys_near_end(connection, series, tail.count)
                rows, records = step_rows(series, log, key_at, changes.model, changes.at)
                steps += rows
            if records or rewritten:
                for point in points:
                    for result in point.results:
                        result.steps = (records[point.key],) if point.key in records else ()
        STEP.into(connection, steps)
        write_blocks(connection, due)

    def _pending(self, series: int, points: list[UnjudgedPoint]) -> PendingSeries:
        tail = self.tails[series]
        first = tail.values.size
        values = self.tails.extended(series, [point.value for point in points])
        return PendingSeries(values, first, tail.start, tail.base, tail.state)
