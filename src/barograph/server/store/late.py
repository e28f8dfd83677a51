"""Results that are not of a new commit at the end: duplicates, other values, late ones.

A late result changes all later decisions of its series. If they are many, they are made again in
several transactions, between which others get their turn; the table `unjudged` says from where.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import count, groupby
from operator import attrgetter
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.detection.online import AlarmStep, Judge, StepKind
from barograph.results.series import UNKNOWN_TIME
from barograph.server.store.cache import SeriesTail, TailCache, second_look_states, with_stored
from barograph.server.store.database import Insertion
from barograph.server.store.judging import (
    UNDECIDED,
    Arrival,
    PointRows,
    Unjudged,
    UnjudgedCommit,
    UnjudgedRun,
    batched_lookups,
    decide,
    name_known_changes,
    stored_value,
)
from barograph.server.store.measurement import (
    DECISION,
    CommitDecision,
    Limits,
    Measurement,
    PointResult,
    PointStatus,
    StoredDecision,
    commit_fault,
    length_fault,
    rerun_fault,
)
from barograph.server.store.schema import points, revisions, steps, unjudged

DELETED = "deleted, or merged into another series, before its decision was made"
JUDGED_AGAIN = 125  # stored results that are judged again together: a hundredth of a second
UNNAMED = re.compile("|#+[0-9]+")  # runs that no sender named
PER_SERIES = 15  # results that take as long to judge as it takes to find where a series stands
UNJUDGED = Insertion(unjudged, ("series", "order"), replace=("order",))


class ChangedHistory(NamedTuple):
    """The first order from which a series must be judged again, and the results to update.

    The tail before this order is known if the series was judged up to there.
    """

    since: int
    results: dict[int, list[PointResult]]
    tail: SeriesTail | None = None

    @property
    def waiting(self) -> list[PointResult]:
        """The results whose decisions are not made yet."""
        late = (results for order, results in self.results.items() if order >= self.since)
        return [result for of_commit in late for result in of_commit]


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


def report_stored(connection: sa.Connection, results: Sequence[PointResult]) -> None:
    """Report the decisions that are stored, or that there is none to make any more."""
    stored = stored_values(connection, {(result.series, result.order or 0) for result in results})
    for result in results:
        runs = stored.get((result.series, result.order or 0), {})
        for run in runs.values():
            if run.decision is not None:
                result.decision, result.steps = CommitDecision.of(run.decision), run.steps
        if result.decision is None:
            result.reason = DELETED
    name_known_changes(connection, results)


def write_late(
    connection: sa.Connection,
    late: Mapping[int, Sequence[Arrival]],
    lengths: dict[int, int],
    unjudged: Mapping[int, int],
    limits: Limits,
    rows: PointRows,
) -> dict[int, ChangedHistory]:
    """Add or revise points of series, and return what must be judged again.

    Args:
        connection: Of the writing transaction.
        late: The arrivals by series.
        lengths: The number of commits of each series, which is updated.
        unjudged: The order from which series must be judged again in any case.
        limits: What a sender may ask.
        rows: Takes the rows of points, which are written.
    """
    places = {(series, arrival.order) for series, arrivals in late.items() for arrival in arrivals}
    stored = stored_values(connection, places)
    changed: dict[int, ChangedHistory] = {}
    for series, arrivals in late.items():
        length, since = lengths[series], unjudged.get(series)
        accepted: dict[int, list[PointResult]] = defaultdict(list)
        for received in arrivals:
            runs = stored[series, received.order]
            arrival = received._replace(run=_run_of(received, runs))
            arrival.result.reason = _fault(arrival, runs, length, limits)
            if arrival.result.reason:
                continue
            length += not runs
            if upsert(series, arrival, runs, rows) and (since is None or arrival.order < since):
                since = arrival.order
            accepted[arrival.order].append(arrival.result)
        lengths[series] = length
        if since is not None:
            changed[series] = ChangedHistory(since, accepted)
    rows.write(connection)
    return changed


def _run_of(arrival: Arrival, runs: StoredRuns) -> str:
    """Return the run of a result; one without a name that was measured again gets the next number.

    Readers number the runs without a name in the same way: "", #2, #3 and so on.
    """
    measurement, name = arrival.measurement, arrival.run
    if not measurement.made_up or measurement.time is None or not UNNAMED.fullmatch(name):
        return name
    value, time = stored_value(measurement), measurement.time
    same = [run for run in runs if UNNAMED.fullmatch(run) and runs[run].time == time]
    if equal := [run for run in same if runs[run].value == value]:
        return equal[0]
    if name not in runs or same:
        return name if name not in runs else same[0]
    return next(run for k in count(2) if (run := f"#{k}") not in runs)


def _fault(arrival: Arrival, runs: StoredRuns, length: int, limits: Limits) -> str:
    """Return why a measurement is refused, given what the store has of its commit."""
    if not runs:
        return length_fault(limits) if length >= limits.series_length else ""
    commits = [stored.commit for stored in runs.values()]
    if arrival.run in runs:
        return commit_fault(arrival.measurement, arrival.order, commits)
    return rerun_fault(arrival.measurement, arrival.order, commits, limits)


def upsert(series: int, arrival: Arrival, runs: StoredRuns, rows: PointRows) -> bool:
    """Add the rows that a measurement needs; return whether the history changes."""
    result, measurement, stored = arrival.result, arrival.measurement, runs.get(arrival.run)
    result.series, result.order = series, arrival.order
    if stored is None:  # it is judged together with those after it, perhaps later
        value = stored_value(measurement)
        decided = (None if runs else value, *UNDECIDED, rows.model, None)
        rows.new.append(rows.measured(series, arrival) + decided)
        runs[arrival.run] = StoredValue(measurement.commit, measurement.time, value)
        result.status = PointStatus.WRITTEN
        return True
    place = (series, arrival.order, arrival.run)
    result.status, changed = resolve_conflict(place, stored, measurement, rows)
    if result.status is PointStatus.REVISED:
        result.reason = f"the value {stored.value!r} holds"
    if stored.decision is not None:
        result.decision, result.steps = CommitDecision.of(stored.decision), stored.steps
    return changed


def resolve_conflict(
    place: tuple[int, int, str], stored: StoredValue, measurement: Measurement, rows: PointRows
) -> tuple[PointStatus, bool]:
    """Handle a measurement of a stored point; return whether another value holds now.

    The latest time of every value is kept, so that arrival plays no part in which one holds.
    """
    value, time = float(measurement.value), measurement.time
    gets_commit = bool(measurement.commit) and not stored.commit
    stored.commit = stored.commit or measurement.commit
    known = stored.has(value)
    if known and not stored.is_later(value, time):
        if gets_commit:
            _replace(place, stored, rows)
        return PointStatus.DUPLICATE, False
    if value == stored.value:
        stored.time = time
        _replace(place, stored, rows)
        return PointStatus.DUPLICATE, False
    wins = stored.is_superseded_by(value, time)
    if wins:
        stored.others.pop(value, None)
        rows.revised[(*place, value)] = None
        value, time, stored.value, stored.time = stored.value, stored.time, value, time
    if wins or gets_commit:
        _replace(place, stored, rows)
    stored.others[value] = time
    rows.revised[(*place, value)] = (*place, value, time, rows.received)
    return (PointStatus.DUPLICATE if known and not wins else PointStatus.REVISED), wins


def _replace(place: tuple[int, int, str], stored: StoredValue, rows: PointRows) -> None:
    rows.replaced.append((*place, stored.commit, stored.time, stored.value, rows.received))


def judge_again(
    connection: sa.Connection,
    tails: TailCache,
    changed: dict[int, ChangedHistory],
    judge: Judge,
    rows: PointRows,
) -> dict[int, ChangedHistory]:
    """Make decisions again from where histories change on, as many as fit into a transaction.

    Returns:
        What is left. Of the tails of these series, only the length and the last order hold.
    """
    known = {series: tails[series] for series in changed if tails.use(series)}
    left: dict[int, ChangedHistory] = {}
    again: Unjudged = {}
    room = JUDGED_AGAIN
    for series, history in changed.items():
        if room <= 0:
            left[series] = history
            continue
        since, results, tail = history
        tails.put(series, tail or rewind(connection, series, since, judge.history))
        later, following = results_from(connection, series, since, room)
        if later:  # else they were deleted meanwhile
            again[series] = [
                UnjudgedCommit(
                    *(order, [UnjudgedRun(run, value, None) for _, run, value in runs]),
                    results.get(order, []),
                )
                for order, runs in groupby(later, attrgetter("order"))
            ]
        if following is not None:
            left[series] = history._replace(since=following)
        room -= len(later) + PER_SERIES
    decide(connection, tails, again, judge, rows)
    reached = {series: tails[series] for series in left.keys() & again.keys()}
    for series in left:
        tails.drop(series)
        if series in known:
            tails.put(series, known[series])
    return left | {series: left[series]._replace(tail=tail) for series, tail in reached.items()}


def rewind(connection: sa.Connection, series: int, since: int, history: int) -> SeriesTail:
    """Take a series back to just before an order, and return the tail there.

    Args:
        connection: Of the writing transaction.
        series: Number of the series.
        since: The order.
        history: Number of values that a decision reads.
    """
    p, s = points.c, steps.c
    before = p.series == series, p.order < since, p.settled.is_not(None)
    total = sa.select(sa.func.count()).where(*before).scalar_subquery().label("total")
    settled = sa.select(p.order, p.settled, p.answer, p.baseline_size, total).where(*before)
    newest = connection.execute(settled.order_by(p.order.desc()).limit(history))
    rows = list(reversed(newest.all()))
    tail = SeriesTail()
    if rows:
        tail = with_stored(SeriesTail(count=rows[0].total - len(rows)), rows, history)
    connection.execute(sa.delete(steps).where(s.series == series, s.order >= since))
    tail.state = second_look_states(connection, [series]).get(series)
    return tail


def results_from(
    connection: sa.Connection, series: int, since: int, limit: int
) -> tuple[Sequence[Any], int | None]:
    """Return the runs of whole commits from an order on, and the order of the first that is left.

    Args:
        connection: Of the writing transaction.
        series: Number of the series.
        since: The order.
        limit: Maximum number of runs, except that the first commit is always complete.
    """
    p = points.c
    query = sa.select(p.order, p.run, p.value).where(p.series == series, p.order >= since)
    later = connection.execute(query.order_by(p.order, p.run).limit(limit + 1)).all()
    if len(later) <= limit:
        return later, None
    left = later[-1].order
    if left == later[0].order:
        return results_from(connection, series, since, 2 * limit)
    return [run for run in later if run.order < left], left


def unjudged_from(connection: sa.Connection) -> dict[int, int]:
    """Return the order from which decisions are to be made again, by series."""
    return dict(connection.execute(sa.select(unjudged)).all())


def note_unjudged(
    connection: sa.Connection, left: Mapping[int, int], done: AbstractSet[int]
) -> None:
    """Note from which orders the decisions of series are left, and which series are done."""
    if done:
        connection.execute(sa.delete(unjudged).where(unjudged.c.series.in_(done)))
    UNJUDGED.into(connection, list(left.items()))
