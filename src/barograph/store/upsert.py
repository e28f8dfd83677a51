"""Decide whether an arriving point is new, a duplicate, or another value for a stored point."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.detection.online import ANSWERS, AlarmStep, StepKind
from barograph.store.database import BulkUpdate, Insertion, Row
from barograph.store.measurement import (
    CommitDecision,
    KnownChange,
    Measurement,
    PointResult,
    PointStatus,
)
from barograph.store.schema import points, revisions, steps

UNKNOWN_TIME = -(2**63)  # earlier than every known time
DELETED = "deleted, or merged into another series, before its decision was made"
CHUNK = 1000  # series or orders in one query

# Answer, probability, surprise, length of Pre, reruns, and order since when a change is known.
StoredDecision = tuple[int, float, float, int, int, int | None]
UNDECIDED: StoredDecision = (0, 0.0, 0.0, 0, 0, None)

PLACE = ("series", "order", "run")
MEASURED = ("commit", "time", "value", "received")
DECISION = ("answer", "probability", "surprise", "baseline_size", "reruns", "known_since")
DECIDED = ("settled", *DECISION, "model", "reasons", "decided")
NEW_POINT = Insertion(points, (*PLACE, *MEASURED, *DECIDED))
OTHER_VALUE = BulkUpdate(points, PLACE, MEASURED)
OTHER_DECISION = BulkUpdate(points, PLACE, DECIDED)
REVISED = ("series", "order", "run", "value", "time", "received")
REVISION = Insertion(revisions, REVISED, replace=("time", "received"))


class Entry(NamedTuple):
    """The place of one measurement in its series; sorts by it, then by arrival.

    Attributes:
        order: Order of the commit.
        run: Run of the commit.
        row: Index of the measurement in its batch.
    """

    order: int
    run: str
    row: int


@dataclass(slots=True)
class StoredValue:
    """What the store has for one series, order and run.

    Attributes:
        commit: Commit, or an empty text.
        time: When the value was measured, if known.
        value: The value that holds.
        decision: The decision on it; None before the first one.
        others: Superseded values with their times.
        steps: What the second look did when the commit arrived.
    """

    commit: str
    time: int | None
    value: float
    decision: StoredDecision | None = None
    others: dict[float, int | None] = field(default_factory=dict)
    steps: tuple[AlarmStep, ...] = ()

    def has(self, value: float) -> bool:
        """Return whether the value is the one that holds, or a superseded one."""
        return value == self.value or value in self.others

    def is_later(self, value: float, time: int | None) -> bool:
        """Return whether a value that is stored was measured again at a later time."""
        stored = self.time if value == self.value else self.others[value]
        return _sortable(time) > _sortable(stored)

    def is_superseded_by(self, value: float, time: int | None) -> bool:
        """Return whether another value holds instead: the later one, else the larger one.

        Arrival plays no part, so that the same requests in any order leave the same store.
        """
        return (_sortable(time), value) > (_sortable(self.time), self.value)


StoredRuns = dict[str, StoredValue]  # what the store has for one series and order
StoredValues = dict[tuple[int, int], StoredRuns]  # by series and order


def stored_value(measurement: Measurement) -> float:
    """Return the value of a measurement as it is stored: -0.0 becomes 0.0."""
    return float(measurement.value) + 0.0


def commit_decision(stored: StoredDecision) -> CommitDecision:
    """Return a decision as it is reported; the commit since when a change is known follows."""
    answer, probability, surprise, baseline_size, reruns, since = stored
    known = None if since is None else KnownChange(since, "")
    return CommitDecision(ANSWERS[answer], probability, surprise, reruns, known, baseline_size)


def _sortable(time: int | None) -> int:
    return UNKNOWN_TIME if time is None else time


def stored_values(connection: sa.Connection, places: Iterable[tuple[int, int]]) -> StoredValues:
    """Return what the store has at pairs of series and order."""
    values: StoredValues = defaultdict(dict)
    p, r, s = points.c, revisions.c, steps.c
    measured = (p.run, p.commit, p.time, p.value, *(p[name] for name in DECISION))
    for numbers, orders in batched_lookups(places):

        def rows(
            table: sa.Table,
            *columns: sa.Column[Any],
            numbers: list[int] = numbers,
            orders: list[int] = orders,
        ) -> Iterable[Any]:
            t = table.c
            query = sa.select(t.series, t.order, *columns)
            return connection.execute(query.where(t.series.in_(numbers), t.order.in_(orders)))

        for series, order, run, commit, time, value, *decision in rows(points, *measured):
            values[series, order][run] = StoredValue(commit, time, value, tuple(decision))
        for *place, run, value, time in rows(revisions, r.run, r.value, r.time):
            values[tuple(place)][run].others[value] = time
        for series, order, kind, index, *rest in rows(
            steps, s.kind, s.change_order, s.probability, s.from_order, s.score
        ):
            step = AlarmStep(StepKind(kind), index, order, *rest)
            for stored in values[series, order].values():
                stored.steps = (step,)
    return values


def name_known_changes(connection: sa.Connection, results: Iterable[PointResult]) -> None:
    """Add the commit of the known change to decisions that have only its order."""
    known: dict[tuple[int, int], list[PointResult]] = defaultdict(list)
    for result in results:
        if result.decision is not None and result.decision.known_since is not None:
            known[result.series, result.decision.known_since.order].append(result)
    p = points.c
    for numbers, orders in batched_lookups(known):
        at_places = p.series.in_(numbers), p.order.in_(orders), p.settled.is_not(None)
        for number, order, commit in connection.execute(
            sa.select(p.series, p.order, p.commit).where(*at_places)
        ):
            for result in known.get((number, order), ()):
                assert result.decision is not None  # noqa: S101 - chosen for it
                since = KnownChange(order, commit)
                result.decision = result.decision._replace(known_since=since)


def report_stored(connection: sa.Connection, results: Sequence[PointResult]) -> None:
    """Report the decisions that are stored, or that there is none to make any more."""
    stored = stored_values(connection, {(result.series, result.order or 0) for result in results})
    for result in results:
        runs = stored.get((result.series, result.order or 0), {})
        for run in runs.values():
            if run.decision is not None:
                result.decision, result.steps = commit_decision(run.decision), run.steps
        if result.decision is None:
            result.reason = DELETED
    name_known_changes(connection, results)


def batched_lookups(places: Iterable[tuple[int, int]]) -> Iterator[tuple[list[int], list[int]]]:
    """Split pairs of series and order into queries that the database answers by key.

    Each query is one order of many series, or many orders of one series, whichever takes fewer
    queries. SQLite answers a list of pairs by scanning the whole table.

    Returns:
        Lists of series and of orders, to be combined with each other.
    """
    by_order: dict[int, set[int]] = defaultdict(set)
    by_series: dict[int, set[int]] = defaultdict(set)
    for series, order in places:
        by_order[order].add(series)
        by_series[series].add(order)
    if len(by_order) <= len(by_series):
        for order, numbers in sorted(by_order.items()):
            yield from ((chunk, [order]) for chunk in _chunks(numbers))
    else:
        for series, orders in sorted(by_series.items()):
            yield from (([series], chunk) for chunk in _chunks(orders))


def _chunks(numbers: set[int]) -> Iterator[list[int]]:
    ordered = sorted(numbers)
    return (ordered[first : first + CHUNK] for first in range(0, len(ordered), CHUNK))


@dataclass
class Changes:
    """The rows of one transaction that are written before any decision.

    Attributes:
        received: When the measurements were received.
        model: Number of the model that decides.
        added: Points between or before stored ones, or further runs of stored commits.
        replaced: Points whose value, time or commit changes.
        revised: Superseded values by place and value; None if that value holds again.
    """

    received: int
    model: int
    added: list[Row] = field(default_factory=list)
    replaced: list[Row] = field(default_factory=list)
    revised: dict[Row, Row | None] = field(default_factory=dict)

    def add(
        self, series: int, entry: Entry, measurement: Measurement, *, is_new_commit: bool
    ) -> None:
        """Add a point; it is judged together with those after it, perhaps later."""
        row = self.measured(series, entry, measurement)
        settled = stored_value(measurement) if is_new_commit else None
        self.added.append((*row, *self.decided(settled, UNDECIDED)))

    def measured(self, series: int, entry: Entry, measurement: Measurement) -> Row:
        """Return the columns of a point that do not depend on the decision."""
        place = (series, entry.order, entry.run)
        return (
            *place,
            measurement.commit,
            measurement.time,
            stored_value(measurement),
            self.received,
        )

    def decided(self, settled: float | None, decision: StoredDecision) -> Row:
        """Return the columns of a point that hold the decision; reasons are found on request."""
        return (settled, *decision, self.model, None, self.received)

    def resolve_conflict(
        self, series: int, entry: Entry, stored: StoredValue, measurement: Measurement
    ) -> tuple[PointStatus, bool]:
        """Handle a measurement of a stored point; return whether another value holds now.

        The latest time of every value is kept, so that arrival plays no part in which one holds.
        """
        place = (series, entry.order, entry.run)
        value, time = float(measurement.value), measurement.time
        gets_commit = bool(measurement.commit) and not stored.commit
        stored.commit = stored.commit or measurement.commit
        known = stored.has(value)
        if known and not stored.is_later(value, time):
            if gets_commit:
                self._replace(place, stored)
            return PointStatus.DUPLICATE, False
        if value == stored.value:
            stored.time = time
            self._replace(place, stored)
            return PointStatus.DUPLICATE, False
        wins = stored.is_superseded_by(value, time)
        if wins:
            stored.others.pop(value, None)
            self.revised[(*place, value)] = None
            value, time, stored.value, stored.time = stored.value, stored.time, value, time
        if wins or gets_commit:
            self._replace(place, stored)
        stored.others[value] = time
        self.revised[(*place, value)] = (*place, value, time, self.received)
        return (PointStatus.DUPLICATE if known and not wins else PointStatus.REVISED), wins

    def _replace(self, place: tuple[int, int, str], stored: StoredValue) -> None:
        self.replaced.append((*place, stored.commit, stored.time, stored.value, self.received))

    def write(self, connection: sa.Connection) -> None:
        """Write the rows; a point that is both added and replaced is added first."""
        NEW_POINT.into(connection, self.added)
        OTHER_VALUE.into(connection, self.replaced)
        for key, row in self.revised.items():
            if row is None:
                same = [c == part for c, part in zip(revisions.primary_key, key, strict=True)]
                connection.execute(sa.delete(revisions).where(*same))
        REVISION.into(connection, [row for row in self.revised.values() if row is not None])


def upsert(
    series: int,
    entry: Entry,
    measurement: Measurement,
    runs: StoredRuns,
    changes: Changes,
) -> tuple[PointResult, bool]:
    """Add the rows that a measurement needs; return its result, and whether the history changes."""
    stored = runs.get(entry.run)
    if stored is None:
        changes.add(series, entry, measurement, is_new_commit=not runs)
        return PointResult(PointStatus.WRITTEN, series=series, order=entry.order), True
    status, changed = changes.resolve_conflict(series, entry, stored, measurement)
    reason = f"the value {stored.value!r} holds" if status is PointStatus.REVISED else ""
    result = PointResult(status, reason, series, entry.order)
    if stored.decision is not None:
        result.decision = commit_decision(stored.decision)
        result.steps = stored.steps
    return result, changed
