"""Judge commits that are new, or that come after a change of their series' past.

A late result changes all later decisions of its series. If they are many, they are made again in
several transactions, so that others need not wait; `stale` notes from where they are left.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
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
from barograph.store.database import Insertion, Row
from barograph.store.measurement import PointResult
from barograph.store.schema import steps
from barograph.store.tail import (
    SeriesTail,
    StoredRun,
    TailCache,
    is_block_due,
    orders_before,
    rewind,
    write_blocks,
)
from barograph.store.upsert import (
    NEW_POINT,
    OTHER_DECISION,
    Changes,
    StoredDecision,
    commit_decision,
)

COMMIT = NEW_POINT.names.index("commit")
LOOK_BACK = 16  # orders that are read in advance
JUDGED_AGAIN = 2_000  # stored results that one transaction judges again: a tenth of a second
PER_SERIES = 15  # results that take as long to judge as it takes to find where a series stands
STEP = Insertion(
    steps,
    (
        *("series", "order", "kind", "change_order", "from_order", "probability"),
        *("standing", "score", "confirmed", "direction", "model", "decided"),
    ),
)


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
    def stored(cls, order: int, runs: Iterable[StoredRun], results: Sequence[PointResult]) -> Self:
        """Return a commit whose results are stored."""
        first, *others = runs
        reruns = tuple(UnjudgedRun(run, value, None) for _, run, value in others)
        return cls(order, first.run, first.value, None, tuple(results), reruns)

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


class ChangedHistory(NamedTuple):
    """The first order from which a series must be judged again, and the results to update."""

    since: int
    results: dict[int, list[PointResult]]


Unjudged = dict[int, list[UnjudgedCommit]]  # by series, each in the order of its commits


def judge_again(
    connection: sa.Connection,
    tails: TailCache,
    changed: dict[int, ChangedHistory],
    judge: Judge,
    changes: Changes,
) -> dict[int, ChangedHistory]:
    """Make decisions again from where histories change on, as many as fit into a transaction.

    Returns:
        What is left. The tails of these series are not cached.
    """
    left: dict[int, ChangedHistory] = {}
    unjudged: Unjudged = {}
    room = JUDGED_AGAIN
    for series, history in changed.items():
        if room <= 0:
            left[series] = history
            continue
        since, results = history
        tail, later, following = rewind(connection, series, since, judge.history, room)
        tails.put(series, tail)
        if later:  # else they were deleted meanwhile
            unjudged[series] = [
                UnjudgedCommit.stored(order, runs, results.get(order, ()))
                for order, runs in groupby(later, attrgetter("order"))
            ]
        if following is not None:
            left[series] = history._replace(since=following)
        room -= len(later) + PER_SERIES
    decide(connection, tails, unjudged, judge, changes)
    for series in left:
        tails.drop(series)
    return left


def decide(
    connection: sa.Connection, tails: TailCache, unjudged: Unjudged, judge: Judge, changes: Changes
) -> None:
    """Judge commits that follow the cached tails; write the decisions and extend the tails."""
    if not unjudged:
        return
    pending = [_pending(tails[series], commits) for series, commits in unjudged.items()]
    judged = judge.judge(pending)
    decisions = _decisions(judged)
    rows = _Rows(changes)
    due: list[tuple[int, SeriesTail]] = []
    items = zip(unjudged.items(), pending, judged.logs, strict=True)
    for (series, commits), values, log in items:
        tail = tails[series]
        order_at = _Orders(connection, series, tail.count, commits)
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


class _Orders:
    """The order at each position of a series that has new commits.

    Args:
        connection: Sees all points before the new commits.
        series: Number of the series.
        first: Position of the first new commit.
        commits: The new commits.
    """

    __slots__ = ("_before", "_commits", "_connection", "_first", "_series")

    def __init__(
        self, connection: sa.Connection, series: int, first: int, commits: list[UnjudgedCommit]
    ) -> None:
        self._connection, self._series = connection, series
        self._first, self._commits = first, commits
        self._before: list[int] = []  # the newest first

    def __call__(self, position: int) -> int:
        back = self._first - position
        if back <= 0:
            return self._commits[-back].order
        if back > len(self._before):
            before = self._commits[0].order
            self._before = orders_before(self._connection, self._series, before, back + LOOK_BACK)
        return self._before[back - 1]


class _Rows:
    """The rows that decisions add and change.

    Args:
        changes: Makes the rows.
    """

    def __init__(self, changes: Changes) -> None:
        self._changes = changes
        self._new: list[Row] = []
        self._again: list[Row] = []
        self._steps: list[Row] = []

    def add_steps(self, series: int, log: AlarmLog, order_at: _Orders) -> dict[int, AlarmStep]:
        """Add the steps of a series; return them with orders, by that of their arrival."""
        by_order: dict[int, AlarmStep] = {}
        for step, state in zip(log.steps, log.states, strict=True):
            moved_from = None if step.moved_from is None else order_at(step.moved_from)
            order, index = order_at(step.newest), order_at(step.index)
            by_order[order] = replace(step, index=index, newest=order, moved_from=moved_from)
            change = (step.kind.value, index, moved_from, step.probability)
            standing = (state.change, state.score, state.confirmed, state.direction)
            decided = (self._changes.model, self._changes.received)
            self._steps.append((series, order, *change, *standing, *decided))
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
        self._add(series, commit.order, commit, self._changes.decided(settled, decision))
        for rerun in commit.reruns:  # the first run has the settled value
            self._add(series, commit.order, rerun, self._changes.decided(None, decision))
        reported = commit_decision(decision)
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
