"""What one commit changed, improvements too, and everything that it did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from barograph.results.series import Verdict
from barograph.results.wording import EffectWord
from barograph.runtime.errors import NotFoundError
from barograph.server.store import commit_details
from barograph.server.store.candidate_records import CandidateRecord, candidates_numbered, is_listed
from barograph.server.store.commit_details import KEY, PARENT, CommitDetails
from barograph.server.store.database import CHUNK, count_rows, rows_in
from barograph.server.store.reading import StoredSeries, stored_series
from barograph.server.store.schema import candidates, commits, points, series
from barograph.server.triage.effects import (
    Effect,
    SettledResults,
    effect_between,
    results_between,
)
from barograph.server.triage.ranges import known_ranges
from barograph.server.triage.tickets import Ticket, about_candidates

SPAN = 30  # commits on each side whose results are compared
MOST = 2000  # series that are compared


@dataclass(frozen=True, slots=True)
class CommitSummary:
    """A commit at which candidates are.

    Attributes:
        project: Its project.
        order: Its order.
        commit: Its name; empty if unknown.
        worse: The number of changes for the worse.
        better: The number of changes for the better.
        unknown: The number of trends, and of changes in series without a direction.
        undecided: The number of changes without a final verdict.
        hazard: The largest hazard, in magnitude.
        subject: The first line of its message; empty if unknown.
        author: Who wrote it; empty if unknown.
    """

    project: str
    order: int
    commit: str
    worse: int
    better: int
    unknown: int
    undecided: int
    hazard: float | None
    subject: str = ""
    author: str = ""


@dataclass(frozen=True, slots=True)
class ChangedSeries:
    """A candidate at a commit, with its series and the results around it."""

    series: StoredSeries
    change: CandidateRecord
    effect: Effect
    word: EffectWord
    last_before: int | None
    results: SettledResults


@dataclass(frozen=True, slots=True)
class UnmovedSeries:
    """A series with results on both sides of a commit, and no candidate there."""

    id: int
    effect: Effect
    word: EffectWord


@dataclass(frozen=True, slots=True)
class SilentSeries:
    """The series of a variant that have results before a commit, and none since."""

    variant: str
    count: int
    last_order: int


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """Everything that is known about the effect of a commit.

    Attributes:
        project: Its project.
        order: Its order.
        commits: The names at this order; empty if unknown.
        time: When it was first measured, among the compared series.
        changed: The changes at it, the largest first.
        quiet: The other series with results on both sides.
        too_few: The number of series with too few results before it.
        silent: Series that have no result since, by variant.
        total: The number of series of the project.
        compared: The number of series that were looked at: all, or the first 2,000.
        suspects: The number of known commits that may have caused the changes.
        is_complete: Whether no other commit can have caused them.
        previous: The order of the last commit before with a change.
        next: The order of the first commit after with a change.
        tickets: The tickets about the changes.
        details: What is known about the commits, in the order of `commits`.
    """

    project: str
    order: int
    commits: tuple[str, ...]
    time: int | None
    changed: tuple[ChangedSeries, ...]
    quiet: tuple[UnmovedSeries, ...]
    too_few: int
    silent: tuple[SilentSeries, ...]
    total: int
    compared: int
    suspects: int
    is_complete: bool
    previous: int | None
    next: int | None
    tickets: tuple[Ticket, ...]
    details: tuple[CommitDetails, ...] = ()

    def of(self, word: str) -> list[ChangedSeries]:
        """Return the changes that are worse, better, trends or of unknown direction."""
        return [change for change in self.changed if change.word == word]


def commits_with_changes(
    connection: sa.Connection, project: str, *, before: int | None = None, limit: int = 50
) -> list[CommitSummary]:
    """Return the commits of a project at which candidates are, the latest first.

    Args:
        connection: From `Store.read`.
        project: Name of the project.
        before: Only commits of lower orders.
        limit: Maximum number of commits.
    """
    query = _summary_query().where(series.c.project == project).limit(limit)
    if before is not None:
        query = query.where(candidates.c.order < before)
    summaries = [CommitSummary(*row) for row in connection.execute(query)]
    details = commit_details.find(connection, project, [summary.commit for summary in summaries])
    return [
        replace(summary, subject=known.subject, author=known.author)
        for summary in summaries
        for known in [details[summary.commit]]
    ]


def _summary_query() -> sa.Select[Any]:
    """Return the query for what `CommitSummary` counts of the candidates of each commit."""
    c, s = candidates.c, series.c

    def count(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
        return sa.func.coalesce(sa.func.sum(sa.case((condition, 1), else_=0)), 0)

    has_sign = sa.and_(s.direction != 0, ~c.trend)
    final = c.verdict.in_([Verdict.TRUE_POSITIVE.value, Verdict.FALSE_POSITIVE.value])
    return (
        sa.select(
            s.project,
            c.order,
            sa.func.max(c.commit),
            count(sa.and_(has_sign, c.hazard > 0)),
            count(sa.and_(has_sign, c.hazard < 0)),
            count(sa.or_(~has_sign, c.hazard.is_(None), c.hazard == 0)),
            count(~final),
            sa.func.max(sa.func.abs(c.hazard)),
        )
        .join(series, s.id == c.series)
        .where(is_listed())
        .group_by(s.project, c.order)
        .order_by(c.order.desc())
    )


def commit_changes(connection: sa.Connection, project: str, order: int) -> CommitChanges:
    """Return everything that is known about the effect of a commit, in a fixed number of queries.

    Args:
        connection: From `Store.read`.
        project: Name of the project.
        order: Order of the commit.

    Raises:
        DataError: The project has no commit and no result at this order.
    """
    known = _changes(connection, project, order)
    names, first, last = _window(connection, project, order)
    every = _series(connection, project, [change.series for change in known])
    if not every:
        raise NotFoundError(f"there is no project {project!r:.80}")
    results = results_between(connection, every, first, last)
    if not names and not known and not any(_has(values, order) for values in results.values()):
        raise NotFoundError(f"project {project!r:.80} has no commit at order {order}")
    changed = sorted(
        (_changed(every[change.series], change, results) for change in known),
        key=lambda entry: (-abs(entry.change.hazard or 0.0), entry.series.id),
    )
    moved = {entry.series.id for entry in changed}
    others = {number: values for number, values in results.items() if number not in moved}
    suspects, is_complete = _suspects(connection, project, order, changed)
    described = commit_details.find(connection, project, names)
    return CommitChanges(
        *(project, order, names, _time(connection, sorted(moved), order)),
        *(tuple(changed), *_unmoved(every, others, order)),
        *(count_rows(connection, series, series.c.project == project), len(every)),
        *(suspects, is_complete),
        *_neighbours(connection, project, order),
        tuple(about_candidates(connection, [change.id for change in known])),
        tuple(commit for commit in described.values() if any(commit[KEY:PARENT])),
    )


def _changes(connection: sa.Connection, project: str, order: int) -> list[CandidateRecord]:
    c = candidates.c
    query = (
        sa.select(c.id)
        .join(series, series.c.id == c.series)
        .where(series.c.project == project, c.order == order, is_listed())
    )
    return candidates_numbered(connection, list(connection.scalars(query.limit(MOST))))


def _window(
    connection: sa.Connection, project: str, order: int
) -> tuple[tuple[str, ...], int, int]:
    """Return the names of a commit, and the orders between which results are compared."""
    c = commits.c
    orders = sa.select(c.order).where(c.project == project).distinct()
    old = orders.where(c.order < order).order_by(c.order.desc()).limit(SPAN).subquery()
    new = orders.where(c.order >= order).order_by(c.order).limit(SPAN).subquery()
    first = connection.scalar(sa.select(sa.func.min(old.c.order)))
    last = connection.scalar(sa.select(sa.func.max(new.c.order)))
    named = sa.select(c.commit).where(c.project == project, c.order == order).order_by(c.commit)
    names = tuple(connection.scalars(named))
    if first is None and last is None:
        return names, order - SPAN, order + SPAN  # results of the project name no commits
    return names, order - 1 if first is None else first, order if last is None else last


def _series(
    connection: sa.Connection, project: str, needed: Sequence[int]
) -> dict[int, StoredSeries]:
    """Return the series to compare by their numbers: those that changed, then all others."""
    query = sa.select(series).where(series.c.project == project).order_by(series.c.id)
    rows = list(connection.execute(query.limit(MOST)))
    rest = sorted(set(needed) - {row.id for row in rows})
    rows += rows_in(connection, sa.select(series), series.c.id, rest)
    return {row.id: stored_series(row) for row in rows}


def _has(results: SettledResults, order: int) -> bool:
    return any(known == order for known, _ in results)


def _changed(
    target: StoredSeries, change: CandidateRecord, results: Mapping[int, SettledResults]
) -> ChangedSeries:
    values = results.get(target.id, ())
    effect = Effect.of(change) or effect_between(values, change.order - 1, change.order)
    last = max((order for order, _ in values if order < change.order), default=None)
    return ChangedSeries(target, change, effect, effect.word(target.direction), last, values)


def _unmoved(
    every: Mapping[int, StoredSeries], results: Mapping[int, SettledResults], order: int
) -> tuple[tuple[UnmovedSeries, ...], int, tuple[SilentSeries, ...]]:
    """Return the series that did not move, the number with too few results, and the silent ones."""
    quiet, too_few, silent = [], 0, []
    for number, values in results.items():
        effect = effect_between(values, order - 1, order)
        if effect.after is None:
            silent.append((every[number].name.variant, values[-1][0]))
        elif effect.before is None:
            too_few += 1
        else:
            quiet.append(UnmovedSeries(number, effect, effect.word(every[number].direction)))
    return tuple(quiet), too_few, _by_variant(silent)


def _by_variant(silent: list[tuple[str, int]]) -> tuple[SilentSeries, ...]:
    groups = groupby(sorted(silent), key=itemgetter(0))
    by_variant = [(variant, [order for _, order in pairs]) for variant, pairs in groups]
    return tuple(SilentSeries(variant, len(last), max(last)) for variant, last in by_variant)


def _suspects(
    connection: sa.Connection, project: str, order: int, changed: Sequence[ChangedSeries]
) -> tuple[int, bool]:
    """Return how many known commits may have caused all the changes, and whether no other can.

    The latest of the results before them bounds the range: one cause is assumed.
    """
    edges = [entry.last_before for entry in changed if entry.last_before is not None]
    if not edges:
        return 1, False
    bounds = max(edges), order
    known = known_ranges(connection, project, [bounds])[bounds]
    return len(known.commits), known.is_complete


def _time(connection: sa.Connection, numbers: Sequence[int], order: int) -> int | None:
    p = points.c
    chosen = p.series.in_(list(numbers[:CHUNK]))
    time: int | None = connection.scalar(
        sa.select(sa.func.min(p.time)).where(chosen, p.order == order)
    )
    return time


def _neighbours(
    connection: sa.Connection, project: str, order: int
) -> tuple[int | None, int | None]:
    c = candidates.c
    orders = sa.select(c.order).join(series, series.c.id == c.series)
    orders = orders.where(series.c.project == project, is_listed())
    before = connection.scalar(orders.where(c.order < order).order_by(c.order.desc()).limit(1))
    after = connection.scalar(orders.where(c.order > order).order_by(c.order).limit(1))
    return before, after
