"""Judge the commits that follow the cached values of their series, and write the decisions."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from barograph.detection.online import (
    AlarmLog,
    AlarmStep,
    BatchDecisions,
    Judge,
    PendingSeries,
)
from barograph.server.store.cache import (
    SeriesTail,
    TailCache,
    is_block_due,
    orders_before,
    write_blocks,
)
from barograph.server.store.database import BulkUpdate, Insertion, Row, chunks
from barograph.server.store.measurement import (
    DECISION,
    CommitDecision,
    KnownChange,
    Measurement,
    PointResult,
    StoredDecision,
)
from barograph.server.store.schema import points, revisions, steps

CHUNK = 1000  # series or orders in one query

UNDECIDED: StoredDecision = (0, 0.0, 0.0, 0, 0, None)

PLACE = ("series", "order", "run")
MEASURED = ("commit", "time", "value", "received")
DECIDED = ("settled", *DECISION, "model", "reasons")
NEW_POINT = Insertion(points, (*PLACE, *MEASURED, *DECIDED))
OTHER_DECISION = BulkUpdate(points, PLACE, DECIDED)
OTHER_VALUE = BulkUpdate(points, PLACE, MEASURED)
REVISED = (*PLACE, "value", "time", "received")
REVISION = Insertion(revisions, REVISED, replace=("time", "received"))
LOOK_BACK = 16  # orders that are read in advance
STEP = Insertion(
    steps,
    (
        *("series", "order", "kind", "change_order", "from_order", "probability"),
        *("standing", "score", "confirmed", "direction", "model"),
    ),
)


class Arrival(NamedTuple):
    """A measurement in its place, with its result; sorts by the place, then by arrival.

    Attributes:
        order: Order of the commit.
        run: Run of the commit.
        row: Index of the measurement in its batch.
        measurement: The measurement, in the unit of its series.
        result: What its sender gets back.
    """

    order: int
    run: str
    row: int
    measurement: Measurement
    result: PointResult


class UnjudgedRun(NamedTuple):
    """A result that is to be judged.

    Attributes:
        run: Its run.
        value: Its value.
        measured: The columns to insert; None if the point is stored and only its decision changes.
    """

    run: str
    value: float
    measured: Row | None


class UnjudgedCommit(NamedTuple):
    """A commit to be judged: its order, its runs in order, and the results that report it."""

    order: int
    runs: list[UnjudgedRun]
    results: list[PointResult]


Unjudged = dict[int, list[UnjudgedCommit]]  # by series, each in the order of its commits


@dataclass
class PointRows:
    """The rows that one transaction writes.

    Attributes:
        received: When the measurements were received.
        model: Number of the model that decides.
        new: Points.
        replaced: Values, times and commits of stored points.
        revised: Superseded values by place and value; None if that value holds again.
        decided: Decisions on stored points.
        steps: Steps of the second look.
    """

    received: int
    model: int
    new: list[Row] = field(default_factory=list)
    replaced: list[Row] = field(default_factory=list)
    revised: dict[Row, Row | None] = field(default_factory=dict)
    decided: list[Row] = field(default_factory=list)
    steps: list[Row] = field(default_factory=list)

    def measured(self, series: int, arrival: Arrival) -> Row:
        """Return the columns of a point that do not depend on the decision."""
        order, run, _, measurement, _ = arrival
        place, value = (series, order, run), stored_value(measurement)
        return (*place, measurement.commit, measurement.time, value, self.received)

    def add(
        self, series: int, commit: UnjudgedCommit, settled: float, decision: StoredDecision
    ) -> None:
        """Add the decision on a commit to the row of each run; the first has the settled value.

        Reasons are found on request.
        """
        for k, run in enumerate(commit.runs):
            decided = (None if k else settled, *decision, self.model, None)
            if run.measured is not None:
                self.new.append(run.measured + decided)
            else:
                self.decided.append((series, commit.order, run.run, *decided))

    def add_steps(
        self, series: int, log: AlarmLog, order_at: Callable[[int], int]
    ) -> dict[int, AlarmStep]:
        """Add the steps of a series; return them with orders, by that of their arrival."""
        by_order: dict[int, AlarmStep] = {}
        for step, state in zip(log.steps, log.states, strict=True):
            moved_from = None if step.moved_from is None else order_at(step.moved_from)
            order, index = order_at(step.newest), order_at(step.index)
            by_order[order] = replace(step, index=index, newest=order, moved_from=moved_from)
            change = (step.kind.value, index, moved_from, step.probability)
            standing = (state.change, state.score, state.confirmed, state.direction)
            self.steps.append((series, order, *change, *standing, self.model))
        return by_order

    def write(self, connection: sa.Connection) -> None:
        """Write the rows; a point that is both new and replaced is added first."""
        NEW_POINT.into(connection, self.new)
        OTHER_VALUE.into(connection, self.replaced)
        OTHER_DECISION.into(connection, self.decided)
        for key, row in self.revised.items():
            if row is None:
                same = [c == part for c, part in zip(revisions.primary_key, key, strict=True)]
                connection.execute(sa.delete(revisions).where(*same))
        REVISION.into(connection, [row for row in self.revised.values() if row is not None])
        STEP.into(connection, self.steps)
        for written in (self.new, self.replaced, self.revised, self.decided, self.steps):
            written.clear()


def decide(
    connection: sa.Connection, tails: TailCache, unjudged: Unjudged, judge: Judge, rows: PointRows
) -> None:
    """Judge commits that follow the cached tails; write the decisions and extend the tails."""
    if not unjudged:
        return
    pending = [_pending(tails[series], commits) for series, commits in unjudged.items()]
    judged = judge.judge(pending)
    decisions = _decisions(judged)
    due: list[tuple[int, SeriesTail]] = []
    items = zip(unjudged.items(), pending, judged.logs, strict=True)
    for (series, commits), values, log in items:
        before = tails[series].count
        order_at = _orders(connection, series, before, commits)
        steps = rows.add_steps(series, log, order_at) if log.states else {}
        for place, commit in enumerate(commits, values.first):
            settled, known, decision = next(decisions)
            if len(commit.runs) > 1:
                values.values[place] = settled  # in the tail, where the first run stood
            decision = (*decision, None if known < 0 else order_at(known))
            rows.add(series, commit, settled, decision)
            reported = CommitDecision.of(decision)
            for result in commit.results:
                result.decision = reported
                result.steps = (steps[commit.order],) if commit.order in steps else ()
        start = log.alarms[-1] - values.base if log.alarms else values.start
        end = commits[-1].order, before + len(commits)
        tail = SeriesTail.of(values.values, start, *end, judge.history, log.state)
        tails.put(series, tail)
        rewritten = commits[0].runs[0].measured is None  # its block may hold other values
        if rewritten or is_block_due(series, before, tail.count):
            due.append((series, tail))
    rows.write(connection)
    write_blocks(connection, due)


def _pending(tail: SeriesTail, commits: list[UnjudgedCommit]) -> PendingSeries:
    first = tail.values.size
    values = np.empty(first + len(commits))
    values[:first] = tail.values
    values[first:] = [commit.runs[0].value for commit in commits]
    runs = {
        first + k: np.array([run.value for run in commit.runs])
        for k, commit in enumerate(commits)
        if len(commit.runs) > 1
    }
    return PendingSeries(values, first, tail.start, tail.count - first, tail.state, runs)


def _decisions(judged: BatchDecisions) -> Iterator[tuple[float, int, tuple[Any, ...]]]:
    """Yield the settled value, the position of a known change, and the decision of each commit."""
    columns = judged.answer, judged.probability, judged.surprise, judged.baseline_size
    decided = zip(*(column.tolist() for column in (*columns, judged.reruns)), strict=True)
    return zip(judged.settled.tolist(), judged.known_since.tolist(), decided, strict=True)


def _orders(
    connection: sa.Connection, series: int, first: int, commits: list[UnjudgedCommit]
) -> Callable[[int], int]:
    """Return a function of a position in a series that returns the order there.

    Args:
        connection: Sees all points before the new commits.
        series: Number of the series.
        first: Position of the first new commit.
        commits: The new commits.
    """
    before: list[int] = []  # the newest first

    def order_at(position: int) -> int:
        back = first - position
        if back <= 0:
            return commits[-back].order
        if back > len(before):
            before[:] = orders_before(connection, series, commits[0].order, back + LOOK_BACK)
        return before[back - 1]

    return order_at


def stored_value(measurement: Measurement) -> float:
    """Return the value of a measurement as it is stored: -0.0 becomes 0.0."""
    return float(measurement.value) + 0.0


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
            yield from ((part, [order]) for part in chunks(sorted(numbers), CHUNK))
    else:
        for series, orders in sorted(by_series.items()):
            yield from (([series], part) for part in chunks(sorted(orders), CHUNK))
