"""Take measurements into the store: find their places, and write their rows.

A measurement of a new place is a new row. One of a known place is a duplicate or a revision: of all
values of a place the one measured last holds, else the largest. Arrival plays no part in it, so the
same measurements in any order leave the same rows.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, groupby
from typing import Any

import sqlalchemy as sa

from barograph.detection.online import AlarmStep, Judge, StepKind
from barograph.results.series import UNKNOWN_TIME
from barograph.server.store import decide
from barograph.server.store.database import BulkUpdate, Insertion, Row, chunks, rows_in
from barograph.server.store.locate import Arrival, Locator, commit_of
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
    order_fault,
    rerun_fault,
)
from barograph.server.store.reading import STEP, commits_at
from barograph.server.store.schema import points, revisions, series, steps

PENDING = "pending: the decision follows once those on earlier commits are made"
UNNAMED = re.compile("|#+[0-9]+")  # runs that no sender named
UNDECIDED = (0, 0.0, 0.0, 0, 0, None)  # the columns DECISION of a result that waits
PLACE = ("series", "order", "run")
MEASURED = ("commit", "time", "value", "received")
NEW_POINT = Insertion(points, (*PLACE, *MEASURED, "settled", *DECISION, "model"))
OTHER_VALUE = BulkUpdate(points, PLACE, MEASURED)
REVISION = Insertion(revisions, (*PLACE, "value", "time", "received"), replace=("time", "received"))
_P = points.c
_SERIES = series.c
_PLACES = sa.select(_P.place).where(_P.series == _SERIES.id, _P.settled.is_not(None))
_NEWEST = _PLACES.order_by(_P.order.desc()).limit(1)
LAST_PLACE = sa.select(_SERIES.id, _NEWEST.correlate(series).scalar_subquery())
LENGTH = sa.select(_P.series, sa.func.count()).where(_P.settled.is_not(None)).group_by(_P.series)


def rows_at(table: sa.Table, *names: str) -> sa.Select[Any]:
    """Return a query of columns at some series and orders, after the series and the order."""
    columns = [table.c[name] for name in ("series", "order", *names)]
    numbers: sa.BindParameter[Sequence[int]] = sa.bindparam("numbers", expanding=True)
    orders: sa.BindParameter[Sequence[int]] = sa.bindparam("orders", expanding=True)
    return sa.select(*columns).where(columns[0].in_(numbers), columns[1].in_(orders))


MEASURED_AT = rows_at(points, "run", "commit", "time", "value")
REVISED_AT = rows_at(revisions, "run", "time", "value")
DECISIONS_AT = rows_at(points, *DECISION)
STEPS_AT = rows_at(steps, *STEP)
AT_ONCE = 1000  # series or orders in one query
SeriesOrder = tuple[int, int]  # a series and an order


@dataclass
class StoredRun:
    """All values of one series, order and run.

    Attributes:
        commit: Commit, or an empty text.
        value: The value that holds.
        times: When each value was measured last, if known.
        stored: The commit, the value and the times that are stored; None if this is a new run.
    """

    commit: str
    value: float
    times: dict[float, int | None] = field(default_factory=dict)
    stored: tuple[str, float, dict[float, int | None]] | None = None

    def add(self, measurement: Measurement) -> PointStatus:
        """Add another value, and return what happened to it."""
        value, time, held = stored_value(measurement), measurement.time, self.value
        self.commit = self.commit or measurement.commit
        is_known = value in self.times
        if is_known and _sortable(time) <= _sortable(self.times[value]):
            return PointStatus.DUPLICATE
        self.times[value] = time
        self.value = max(self.times, key=lambda other: (_sortable(self.times[other]), other))
        if value == held or (is_known and self.value != value):
            return PointStatus.DUPLICATE
        return PointStatus.REVISED


def _sortable(time: int | None) -> int:
    return UNKNOWN_TIME if time is None else time


def stored_value(measurement: Measurement) -> float:
    """Return the value of a measurement as it is stored: -0.0 becomes 0.0."""
    return float(measurement.value) + 0.0


class Ingest:
    """One transaction that takes measurements.

    Args:
        connection: Of the writing transaction.
        judge: Decides.
        model: Number of its model.
        limits: What a sender may ask.
        received: When the measurements were received.
    """

    def __init__(
        self, connection: sa.Connection, judge: Judge, model: int, limits: Limits, received: int
    ) -> None:
        self._connection, self._judge, self._model = connection, judge, model
        self._limits, self._received = limits, received
        self._locator = Locator(connection, limits)
        # The runs that are stored, or arrive.
        self._runs: dict[SeriesOrder, dict[str, StoredRun]] = defaultdict(dict)
        self._new: list[Row] = []
        self._replaced: list[Row] = []
        self._revised: list[Row] = []

    def take(self, measurements: Sequence[Measurement]) -> tuple[list[PointResult], bool]:
        """Write measurements, and decide on their commits and on those after them.

        Returns:
            The result of each measurement, and whether decisions are left for later transactions.
        """
        results = [PointResult(PointStatus.REJECTED) for _ in measurements]
        arrived = self._locator.locate(measurements, results)
        self._read_runs({(n, a.order) for n, arrivals in arrived.items() for a in arrivals})
        room = self._room({n: len({a.order for a in found}) for n, found in arrived.items()})
        added: dict[int, int] = {}
        changed: dict[int, int] = {}
        for number, arrivals in arrived.items():
            before = len(self._new)
            since = self._upsert(number, sorted(arrivals), room[number])
            added[number] = len(self._new) - before
            if since is not None:
                changed[number] = since
        self._write()
        self._locator.save_orders(measurements, results)
        left = decide.undecided(self._connection, arrived)
        changed = {n: min(order, left.get(n, order)) for n, order in changed.items()}
        decide.decide(self._connection, self._judge, self._model, changed, added, left)
        self._report(results, left)
        return results, bool(left)

    def _upsert(self, number: int, arrivals: Sequence[Arrival], room: int) -> int | None:
        """Add the rows that arrivals of a series need; return the first order that changes."""
        since: int | None = None
        for order, group in groupby(arrivals, lambda arrival: arrival.order):
            runs = self._runs[number, order]
            is_new = not runs
            for arrival in group:
                reason = self._refusal(arrival, runs, room)
                if reason:
                    arrival.result.reason = reason
                elif self._add(number, arrival, runs) and since is None:
                    since = order
            room -= is_new and bool(runs)
            for k, (name, run) in enumerate(runs.items()):
                self._add_rows((number, order, name), run, is_first=k == 0)
        return since

    def _room(self, commits: Mapping[int, int]) -> dict[int, int]:
        """Return how many further commits series may have: as many as arrive, if that is allowed.

        Args:
            commits: Number of commits that arrive for each series.
        """
        longest = self._limits.series_length
        uncertain = [  # new, undecided or long
            number
            for number, place in rows_in(self._connection, LAST_PLACE, _SERIES.id, [*commits])
            if place is None or place + 1 + commits[number] > longest
        ]
        room = dict.fromkeys(uncertain, longest)
        for number, length in rows_in(self._connection, LENGTH, _P.series, uncertain):
            room[number] -= length
        return {**commits, **room}

    def _read_runs(self, places: Iterable[SeriesOrder]) -> None:
        """Read what the store has of some commits."""
        for number, order, run, commit, time, value in self._rows_at(MEASURED_AT, places):
            self._runs[number, order][run] = StoredRun(commit, value, {value: time})
        for number, order, run, time, value in self._rows_at(REVISED_AT, self._runs):
            self._runs[number, order][run].times[value] = time
        for runs in self._runs.values():
            for stored in runs.values():
                stored.stored = (stored.commit, stored.value, dict(stored.times))

    def _rows_at(self, query: sa.Select[Any], places: Iterable[SeriesOrder]) -> Iterator[Any]:
        """Yield the rows of a query of `rows_at`."""
        for numbers, orders in batched_lookups(places):
            where = {"numbers": numbers, "orders": orders}
            yield from self._connection.execute(query, where).all()

    def _refusal(self, arrival: Arrival, runs: Mapping[str, StoredRun], room: int) -> str:
        """Return why a measurement is refused, given what the store has of its commit."""
        measurement, order = arrival.measurement, arrival.order
        known = self._locator.orders.get(commit_of(measurement), order)
        if known != order and not any(run.stored for run in runs.values()):
            return order_fault(measurement, order, known)
        if not runs:
            return "" if room > 0 else length_fault(self._limits)
        names = [run.commit for run in runs.values()]
        if _run_of(arrival, runs) in runs:
            return commit_fault(measurement, order, names)
        return rerun_fault(measurement, order, names, self._limits)

    def _add(self, number: int, arrival: Arrival, runs: dict[str, StoredRun]) -> bool:
        """Add a measurement to the runs of its commit; return whether the history changes."""
        measurement, result = arrival.measurement, arrival.result
        result.series, result.order = number, arrival.order
        name = _run_of(arrival, runs)
        if name not in runs:
            value = stored_value(measurement)
            runs[name] = StoredRun(measurement.commit, value, {value: measurement.time})
            result.status = PointStatus.WRITTEN
            return True
        run = runs[name]
        held, result.status = run.value, run.add(measurement)
        if result.status is PointStatus.REVISED:
            result.reason = f"the value {run.value!r} holds"
        return run.value != held

    def _add_rows(self, place: Row, run: StoredRun, *, is_first: bool) -> None:
        """Add the rows that differ from those that are stored."""
        measured = (run.commit, run.times[run.value], run.value, self._received)
        if run.stored is None:
            value = run.value if is_first else None
            self._new.append((*place, *measured, value, *UNDECIDED, self._model))
            commit, value, times = run.commit, run.value, {run.value: run.times[run.value]}
        else:
            commit, value, times = run.stored
        if (run.commit, run.value, run.times[run.value]) != (commit, value, times[value]):
            self._replaced.append((*place, *measured))
        if run.value != value and run.value in times:
            keys = zip(revisions.primary_key, (*place, run.value), strict=True)
            self._connection.execute(sa.delete(revisions).where(*(c == key for c, key in keys)))
        for other, time in run.times.items():
            if other != run.value and (other == value or (other, time) not in times.items()):
                self._revised.append((*place, other, time, self._received))

    def _write(self) -> None:
        NEW_POINT.into(self._connection, self._new)
        OTHER_VALUE.into(self._connection, self._replaced)
        REVISION.into(self._connection, self._revised)

    def _report(self, results: Sequence[PointResult], left: Mapping[int, int]) -> None:
        """Add the stored decisions to the results that have one."""
        made: dict[SeriesOrder, list[PointResult]] = defaultdict(list)
        for result in results:
            if result.order is None:
                continue
            if result.order < left.get(result.series, result.order + 1):
                made[result.series, result.order].append(result)
            else:
                result.reason = result.reason or PENDING
        for number, order, *stored in self._rows_at(DECISIONS_AT, made):
            for result in made[number, order]:
                result.decision = result.decision or self._decision(number, tuple(stored))
        for number, order, *step in self._rows_at(STEPS_AT, made):
            for result in made[number, order]:
                result.steps = (AlarmStep(StepKind(step[0]), *step[1:]),)

    def _decision(self, series: int, stored: StoredDecision) -> CommitDecision:
        since = stored[-1]
        if since is None:
            return CommitDecision.of(stored)
        commits = commits_at(self._connection, series, [since])
        return CommitDecision.of(stored, commits.get(since, ""))


def _run_of(arrival: Arrival, runs: Mapping[str, StoredRun]) -> str:
    """Return the run of a result; one without a name that was measured again gets the next number.

    Readers number the runs without a name in the same way: "", #2, #3 and so on.
    """
    measurement, name = arrival.measurement, arrival.run
    if not measurement.made_up or measurement.time is None or not UNNAMED.fullmatch(name):
        return name
    same = [
        run
        for run, known in runs.items()
        if UNNAMED.fullmatch(run) and known.times[known.value] == measurement.time
    ]
    if equal := [run for run in same if runs[run].value == stored_value(measurement)]:
        return equal[0]
    if name not in runs or same:
        return name if name not in runs else same[0]
    return next(run for k in count(2) if (run := f"#{k}") not in runs)


def batched_lookups(places: Iterable[SeriesOrder]) -> Iterator[tuple[list[int], list[int]]]:
    """Split pairs of series and order into queries that the database answers by key.

    Each query is one order of many series, or many orders of one series, whichever takes fewer
    queries. SQLite answers a list of pairs by scanning the whole table.

    Returns:
        Lists of series and of orders, to be combined with each other.
    """
    by_order: dict[int, set[int]] = defaultdict(set)
    by_series: dict[int, set[int]] = defaultdict(set)
    for number, order in places:
        by_order[order].add(number)
        by_series[number].add(order)
    if len(by_order) <= len(by_series):
        for order, numbers in sorted(by_order.items()):
            yield from ((part, [order]) for part in chunks(sorted(numbers), AT_ONCE))
    else:
        for number, orders in sorted(by_series.items()):
            yield from (([number], part) for part in chunks(sorted(orders), AT_ONCE))
