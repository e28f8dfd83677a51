"""Take measurements into the store: find their places, and write their rows.

A measurement of a new place is a new row. One of a known place is a duplicate or a revision: of all
values of a place the one measured last holds, else the largest. Arrival plays no part in it, so the
same measurements in any order leave the same rows.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from barograph.detection.online import AlarmStep, Judge, StepKind
from barograph.results.series import UNKNOWN_TIME
from barograph.server.store import decide
from barograph.server.store.database import BulkUpdate, Insertion, Row, chunks
from barograph.server.store.locate import Arrival, Locator, commit_of
from barograph.server.store.measurement import (
    DECISION,
    CommitDecision,
    Limits,
    Measurement,
    PointResult,
    PointStatus,
)
from barograph.server.store.reading import STEP, commits_at
from barograph.server.store.schema import points, revisions, steps

PENDING = "pending: the decision follows once those on earlier commits are made"
UNNAMED = re.compile("|#+[0-9]+")  # runs that no sender named
UNDECIDED = (0, 0.0, 0.0, 0, 0, None)  # the columns DECISION of a result that waits
PLACE = ("series", "order", "run")
MEASURED = ("commit", "time", "value", "received")
NEW_POINT = Insertion(points, (*PLACE, *MEASURED, "settled", *DECISION, "model"))
OTHER_VALUE = BulkUpdate(points, PLACE, MEASURED)
REVISION = Insertion(revisions, (*PLACE, "value", "time", "received"), replace=("time", "received"))
HELD = [f"held_{column.name}" for column in revisions.primary_key]
IS_HELD = sa.delete(revisions).where(
    *(key == sa.bindparam(name) for key, name in zip(revisions.primary_key, HELD, strict=True))
)
SeriesOrder = tuple[int, int]  # a series and an order


@dataclass
class StoredRun:
    """All values of one series, order and run.

    Attributes:
        commit: Commit, or an empty text.
        value: The value that holds.
        times: When each value was measured last, if known, and when it was received.
        is_new: Whether the store has no row of it yet.
        is_changed: Whether its rows must be written.
    """

    commit: str
    value: float
    times: dict[float, tuple[int | None, int]]
    is_new: bool = False
    is_changed: bool = False

    def add(self, measurement: Measurement, received: int) -> PointStatus:
        """Add another value, and return what happened to it."""
        value, time, held = stored_value(measurement), measurement.time, self.value
        if measurement.commit and not self.commit:
            self.commit, self.is_changed = measurement.commit, True
        is_known = value in self.times
        if is_known and _sortable(time) <= _sortable(self.times[value][0]):
            return PointStatus.DUPLICATE
        self.times[value], self.is_changed = (time, received), True
        self.value = max(self.times, key=lambda other: (_sortable(self.times[other][0]), other))
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

    def take(self, measurements: Sequence[Measurement]) -> tuple[list[PointResult], bool]:
        """Write measurements, and decide on their commits and on those after them.

        Returns:
            The result of each measurement, and whether decisions are left for later transactions.
        """
        results = [PointResult(PointStatus.REJECTED) for _ in measurements]
        arrivals = self._locator.locate(measurements, results)
        stored = self._stored_runs({arrival[:2] for arrival in arrivals})
        changed: dict[int, int] = {}
        for (number, order), group in groupby(arrivals, itemgetter(0, 1)):
            runs = stored[number, order]
            changes = [self._add(arrival, runs) for arrival in group]
            if any(changes):
                changed.setdefault(number, order)
        added = self._write(stored)
        self._locator.save_orders(arrivals)
        left = decide.undecided(self._connection, {arrival.series for arrival in arrivals})
        changed = {n: min(order, left.get(n, order)) for n, order in changed.items()}
        decide.decide(self._connection, self._judge, self._model, changed, added, left)
        self._report(results, left)
        return results, bool(left)

    def _stored_runs(
        self, places: Iterable[SeriesOrder]
    ) -> defaultdict[SeriesOrder, dict[str, StoredRun]]:
        """Return what the store has of some commits."""
        stored: defaultdict[SeriesOrder, dict[str, StoredRun]] = defaultdict(dict)
        columns = "run", "commit", "value", "time", "received"
        for number, order, run, commit, value, *times in self._rows_at(points, columns, places):
            stored[number, order][run] = StoredRun(commit, value, {value: tuple(times)})
        for number, order, run, value, *times in self._rows_at(
            revisions, ("run", "value", "time", "received"), list(stored)
        ):
            stored[number, order][run].times[value] = tuple(times)
        return stored

    def _rows_at(
        self, table: sa.Table, names: Iterable[str], places: Iterable[SeriesOrder]
    ) -> Iterator[Any]:
        """Yield columns of the rows at some places, after the series and the order.

        SQLite answers a list of pairs by scanning the whole table. So the queries are of some
        series and some orders, and give a few rows between that are left out.
        """
        columns = [table.c[name] for name in ("series", "order", *names)]
        wanted = set(places)
        for part in chunks(sorted(wanted)):
            numbers, orders = map(set, zip(*part, strict=True))
            where = columns[0].in_(numbers), columns[1].in_(orders)
            rows = self._connection.execute(sa.select(*columns).where(*where)).all()
            yield from (row for row in rows if row[:2] in wanted)

    def _add(self, arrival: Arrival, runs: dict[str, StoredRun]) -> bool:
        """Add a measurement to the runs of its commit; return whether the history changes."""
        number, order, _, _, measurement, result = arrival
        name = _run_of(measurement, runs)
        run = runs.get(name)
        if reason := self._refusal(measurement, order, runs, is_new=run is None):
            result.reason = reason
            return False
        result.series, result.order = number, order
        if run is None:
            value, times = stored_value(measurement), (measurement.time, self._received)
            runs[name] = StoredRun(measurement.commit, value, {value: times}, True, True)
            result.status = PointStatus.WRITTEN
            return True
        held, result.status = run.value, run.add(measurement, self._received)
        if result.status is PointStatus.REVISED:
            result.reason = f"the value {run.value!r} holds"
        return run.value != held

    def _refusal(
        self, measurement: Measurement, order: int, runs: Mapping[str, StoredRun], *, is_new: bool
    ) -> str:
        """Return why a measurement is refused, given what the store has of its commit."""
        project, commit = commit_of(measurement)
        known = self._locator.orders.get((project, commit), order)
        if known != order and all(run.is_new for run in runs.values()):
            return (
                f"order: {order}, but commit {commit!r} of project {project!r} has order {known}; "
                "a commit has one order in its project"
            )
        other = next((run.commit for run in runs.values() if run.commit), commit)
        if commit and commit != other:
            return f"commit: order {order} of this series is {other!r}"
        if is_new and len(runs) >= self._limits.runs:
            return f"run: order {order} has {len(runs)} runs, and no more are allowed"
        return ""

    def _write(self, stored: Mapping[SeriesOrder, Mapping[str, StoredRun]]) -> dict[int, int]:
        """Write the rows of the runs that changed; return the number of new ones by series."""
        added: dict[int, int] = defaultdict(int)
        new: list[Row] = []
        replaced: list[Row] = []
        revised: list[Row] = []
        held: list[dict[str, object]] = []
        for (number, order), runs in stored.items():
            for k, (name, run) in enumerate(runs.items()):
                if not run.is_changed:
                    continue
                place = number, order, name
                time, received = run.times.pop(run.value)
                measured = run.commit, time, run.value, received
                if run.is_new:
                    settled = None if k else run.value
                    new.append((*place, *measured, settled, *UNDECIDED, self._model))
                    added[number] += 1
                else:
                    replaced.append((*place, *measured))
                    held.append(dict(zip(HELD, (*place, run.value), strict=True)))
                revised += ((*place, value, *times) for value, times in run.times.items())
        NEW_POINT.into(self._connection, new)
        OTHER_VALUE.into(self._connection, replaced)
        if held:
            self._connection.execute(IS_HELD, held)
        REVISION.into(self._connection, revised)
        return added

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
        for number, order, *stored in self._rows_at(points, DECISION, made):
            if made[number, order][0].decision is None:  # a rerun repeats the decision
                commits = commits_at(self._connection, number, stored[-1:])
                decision = CommitDecision.of(tuple(stored), commits.get(stored[-1], ""))
                for result in made[number, order]:
                    result.decision = decision
        for number, order, kind, *step in self._rows_at(steps, STEP, made):
            for result in made[number, order]:
                result.steps = (AlarmStep(StepKind(kind), *step),)


def _run_of(measurement: Measurement, runs: Mapping[str, StoredRun]) -> str:
    """Return the run of a result; one without a name that was measured again gets the next number.

    Readers number the runs without a name in the same way: "", #2, #3 and so on.
    """
    name = measurement.run
    if not measurement.made_up or measurement.time is None or not UNNAMED.fullmatch(name):
        return name
    same = [
        run
        for run, known in runs.items()
        if UNNAMED.fullmatch(run) and known.times[known.value][0] == measurement.time
    ]
    if equal := [run for run in same if runs[run].value == stored_value(measurement)]:
        return equal[0]
    if name not in runs or same:
        return name if name not in runs else same[0]
    return next(run for k in count(2) if (run := f"#{k}") not in runs)
