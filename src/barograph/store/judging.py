"""Judge the commits that follow the cached values of their series, and write the decisions."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import sqlalchemy as sa

from barograph.detection.online import (
    AlarmLog,
    AlarmStep,
    BatchDecisions,
    Judge,
    PendingSeries,
)
from barograph.store.cache import (
    SeriesTail,
    TailCache,
    is_block_due,
    orders_before,
    write_blocks,
)
from barograph.store.database import BulkUpdate, Insertion, Row, chunks
from barograph.store.measurement import (
    DECISION,
    CommitDecision,
    Entry,
    KnownChange,
    Measurement,
    PointResult,
    StoredDecision,
)
from barograph.store.schema import points, steps

CHUNK = 1000  # series or orders in one query

UNDECIDED: StoredDecision = (0, 0.0, 0.0, 0, 0, None)

PLACE = ("series", "order", "run")
MEASURED = ("commit", "time", "value", "received")
DECIDED = ("settled", *DECISION, "model", "reasons")
NEW_POINT = Insertion(points, (*PLACE, *MEASURED, *DECIDED))
OTHER_DECISION = BulkUpdate(points, PLACE, DECIDED)
COMMIT = NEW_POINT.names.index("commit")
LOOK_BACK = 16  # orders that are read in advance
STEP = Insertion(
    steps,
    (
        *("series", "order", "kind", "change_order", "from_order", "probability"),
        *("standing", "score", "confirmed", "direction", "model"),
    ),
)


class PointRows(NamedTuple):
    """Makes the rows of points that one transaction writes.

    Attributes:
        received: When the measurements were received.
        model: Number of the model that decides.
    """

    received: int
    model: int

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
        return (settled, *decision, self.model, None)


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
    """A commit to be judged. Most have one run: its fields stand here to save an object.

    Attributes:
        order: Its order.
        run: Its first run.
        value: The value of that run.
        measured: As in `UnjudgedRun`.
        results: The results that report the decision.
        reruns: Its further runs, in order.
    """

    order: int
    run: str
    value: float
    measured: Row | None
    results: tuple[PointResult, ...] = ()
    reruns: tuple[UnjudgedRun, ...] = ()

    @classmethod
    def stored(cls, order: int, runs: Iterable[Any], results: Sequence[PointResult]) -> Self:
        """Return a commit whose results are stored: rows of order, run and value."""
        first, *others = (UnjudgedRun(run, value, None) for _, run, value in runs)
        return cls(order, *first, tuple(results), tuple(others))

    def with_rerun(self, rerun: UnjudgedRun, result: PointResult) -> Self:
        """Return the commit with a further run."""
        return self._replace(results=(*self.results, result), reruns=(*self.reruns, rerun))

    @property
    def commits(self) -> list[str]:
        """The commit that each new run names, or an empty text."""
        rows = self.measured, *(rerun.measured for rerun in self.reruns)
        return [str(row[COMMIT]) for row in rows if row is not None]

    @property
    def values(self) -> list[float]:
        """The value of each run, in order."""
        return [self.value, *(rerun.value for rerun in self.reruns)]


Unjudged = dict[int, list[UnjudgedCommit]]  # by series, each in the order of its commits


def decide(
    connection: sa.Connection,
    tails: TailCache,
    unjudged: Unjudged,
    judge: Judge,
    point_rows: PointRows,
) -> None:
    """Judge commits that follow the cached tails; write the decisions and extend the tails."""
    if not unjudged:
        return
    pending = [_pending(tails[series], commits) for series, commits in unjudged.items()]
    judged = judge.judge(pending)
    decisions = _decisions(judged)
    rows = _Rows(point_rows)
    due: list[tuple[int, SeriesTail]] = []
    items = zip(unjudged.items(), pending, judged.logs, strict=True)
    for (series, commits), values, log in items:
        tail = tails[series]
        order_at = _orders(connection, series, tail.count, commits)
        steps_by_order = rows.add_steps(series, log, order_at) if log.states else {}
        for place, commit in enumerate(commits, values.first):
            settled, known, decision = next(decisions)
            if commit.reruns:
                values.values[place] = settled  # in the tail, where the first run stood
            since = None if known < 0 else order_at(known)
            rows.add(series, commit, settled, (*decision, since), steps_by_order)
        start = log.alarms[-1] - values.base if log.alarms else values.start
        tail.accept(len(commits), start, commits[-1].order, judge.history)
        tails.recount(tail)
        tail.state = log.state
        rewritten = commits[0].measured is None  # its block may hold other values
        if rewritten or is_block_due(series, tail.count - len(commits), tail.count):
            due.append((series, tail))
    rows.write(connection)
    write_blocks(connection, due)


def _pending(tail: SeriesTail, commits: list[UnjudgedCommit]) -> PendingSeries:
    first = tail.size
    values = tail.extended([commit.value for commit in commits])
    pending = PendingSeries(values, first, tail.start, tail.count - first, tail.state)
    runs = [(first + k, commit) for k, commit in enumerate(commits) if commit.reruns]
    if not runs:
        return pending
    return pending._replace(runs={place: np.array(commit.values) for place, commit in runs})


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


class _Rows:
    """The rows that decisions add and change.

    Args:
        point_rows: Makes the rows of points.
    """

    def __init__(self, point_rows: PointRows) -> None:
        self._point_rows = point_rows
        self._new: list[Row] = []
        self._again: list[Row] = []
        self._steps: list[Row] = []

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
            self._steps.append((series, order, *change, *standing, self._point_rows.model))
        return by_order

    def add(
        self,
        series: int,
        commit: UnjudgedCommit,
        settled: float,
        decision: StoredDecision,
        steps: Mapping[int, AlarmStep],
    ) -> None:
        """Add the decision on a commit to the row of each run, and report it."""
        self._add(series, commit.order, commit, self._point_rows.decided(settled, decision))
        for rerun in commit.reruns:  # the first run has the settled value
            self._add(series, commit.order, rerun, self._point_rows.decided(None, decision))
        reported = CommitDecision.of(decision)
        for result in commit.results:
            result.decision = reported
            result.steps = (steps[commit.order],) if commit.order in steps else ()

    def _add(
        self, series: int, order: int, result: UnjudgedCommit | UnjudgedRun, decided: Row
    ) -> None:
        if result.measured is not None:
            self._new.append(result.measured + decided)
        else:
            self._again.append((series, order, result.run, *decided))

    def write(self, connection: sa.Connection) -> None:
        """Write the rows."""
        NEW_POINT.into(connection, self._new)
        OTHER_DECISION.into(connection, self._again)
        STEP.into(connection, self._steps)


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
