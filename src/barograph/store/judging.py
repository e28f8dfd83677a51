"""Judge commits that are new, or that come after a change of their series' past."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest
from operator import attrgetter
from typing import NamedTuple, Self

import numpy as np
import sqlalchemy as sa

from barograph.detection.online import BatchDecisions, Judge, PendingSeries
from barograph.store.results import PointResult, StepRecord
from barograph.store.rows import Row
from barograph.store.steps import STEP, orders_near_end, rewind_steps, step_rows
from barograph.store.tail import (
    SeriesTail,
    StoredRun,
    TailCache,
    is_block_due,
    load_since,
    write_blocks,
)
from barograph.store.upsert import NEW_POINT, OTHER_DECISION, Changes

COMMIT = NEW_POINT.names.index("commit")
REJUDGED_TOGETHER = 20_000  # stored results that are read and judged in one go


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
    def settled(self) -> float:
        """The value that counts: the median of the runs."""
        if not self.reruns:
            return self.value
        return float(np.median([self.value, *(rerun.value for rerun in self.reruns)]))


class ChangedHistory(NamedTuple):
    """The first order from which a series must be judged again, and the results to update."""

    since: int
    results: dict[int, list[PointResult]]


Unjudged = dict[int, list[UnjudgedCommit]]  # by series, each in the order of its commits


def rewind(
    connection: sa.Connection, tails: TailCache, changed: dict[int, ChangedHistory], history: int
) -> Iterator[Unjudged]:
    """Take the cached tails back to where histories change; yield the commits from there on."""
    unjudged: Unjudged = {}
    count = 0
    for series, (since, results) in changed.items():
        tail, later = load_since(connection, series, since, history)
        tail.state = rewind_steps(connection, series, since)
        tails.put(series, tail)
        unjudged[series] = [
            UnjudgedCommit.stored(order, runs, results.get(order, ()))
            for order, runs in groupby(later, attrgetter("order"))
        ]
        count += len(later)
        if count >= REJUDGED_TOGETHER:
            yield unjudged
            unjudged, count = {}, 0
    yield unjudged


def decide(
    connection: sa.Connection, tails: TailCache, unjudged: Unjudged, judge: Judge, changes: Changes
) -> None:
    """Judge commits that follow the cached tails; write the decisions and extend the tails."""
    if not unjudged:
        return
    judged = judge.judge([_pending(tails, *item) for item in unjudged.items()])
    _write_decisions(connection, unjudged, judged, changes)
    steps: list[Row] = []
    due: list[tuple[int, SeriesTail]] = []
    # There are no logs without a second look.
    ends = zip_longest(unjudged.items(), judged.starts, judged.logs)
    for (series, commits), start, log in ends:
        tail = tails.accept(series, len(commits), start, commits[-1].order, judge.history)
        tail.state = None if log is None else log.state
        rewritten = commits[0].measured is None  # its block may hold other values
        if rewritten or is_block_due(series, tail.count - len(commits), tail.count):
            due.append((series, tail))
        records: dict[int, StepRecord] = {}
        if log is not None and log.steps:
            order_at = orders_near_end(connection, series, tail.count)
            rows, records = step_rows(series, log, order_at, changes.model, changes.at)
            steps += rows
        if records or rewritten:
            for commit in commits:
                for result in commit.results:
                    result.steps = (records[commit.order],) if commit.order in records else ()
    STEP.into(connection, steps)
    write_blocks(connection, due)


def _write_decisions(
    connection: sa.Connection, unjudged: Unjudged, judged: BatchDecisions, changes: Changes
) -> None:
    """Write the decisions, with the points that are not stored yet, and report them."""
    decisions = judged.rows
    new: list[Row] = []
    again: list[Row] = []
    for series, commits in unjudged.items():
        for commit, decision in zip(commits, decisions, strict=False):
            decided = changes.decided(commit.settled, decision)
            if commit.measured is not None:
                new.append(commit.measured + decided)
            else:
                again.append((series, commit.order, commit.run, *decided))
            for rerun in commit.reruns:  # the settled value stands in the row of the first run
                repeated = changes.decided(None, decision)
                if rerun.measured is not None:
                    new.append(rerun.measured + repeated)
                else:
                    again.append((series, commit.order, rerun.run, *repeated))
            for result in commit.results:
                result.probability, result.is_change, result.baseline_size = decision
    NEW_POINT.into(connection, new)
    OTHER_DECISION.into(connection, again)


def _pending(tails: TailCache, series: int, commits: list[UnjudgedCommit]) -> PendingSeries:
    tail = tails[series]
    first = tail.values.size
    values = tails.extended(series, [commit.settled for commit in commits])
    return PendingSeries(values, first, tail.start, tail.base, tail.state)
