"""What one commit changed, improvements too, and everything that it did not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import sqlalchemy as sa

from barograph.results.series import Verdict
from barograph.results.wording import (
    BETTER,
    CHANGED,
    TREND,
    WORSE,
    EffectWord,
    change_text,
    day,
    middle_cut,
    number,
    place_text,
    printable,
    probability_text,
    short_commit,
    unit_text,
)
from barograph.runtime.errors import NotFoundError
from barograph.server.store import commit_details
from barograph.server.store.candidate_records import CandidateRecord, candidates_numbered, is_listed
from barograph.server.store.commit_details import KEY, PARENT, CommitDetails
from barograph.server.store.database import CHUNK, count_rows, rows_in
from barograph.server.store.reading import StoredSeries, stored_series
from barograph.server.store.schema import candidates, commits, points, series
from barograph.server.triage import tickets
from barograph.server.triage.effects import (
    Effect,
    SettledResults,
    effect_between,
    results_between,
)
from barograph.server.triage.suspects import known_ranges
from barograph.server.triage.tickets import Ticket

SPAN = 30  # commits on each side whose results are compared
MOST = 2000  # series that are compared
LISTED = 3  # series of each kind in a text
WIDEST = 72  # characters of a name in a text
HEADINGS = {
    WORSE: "Worse",
    BETTER: "Better",
    CHANGED: "Changed, direction unknown",
    TREND: "Trend",
}


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
class ComparedSeries:
    """A series at a commit, with its candidate there if it has one."""

    series: StoredSeries
    effect: Effect
    change: CandidateRecord | None = None
    last_before: int | None = None

    @property
    def word(self) -> EffectWord:
        """Whether it got worse or better, or that its direction is unknown."""
        return self.effect.word(self.series.direction)


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
    changed: tuple[ComparedSeries, ...]
    quiet: tuple[ComparedSeries, ...]
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

    def of(self, word: str) -> list[ComparedSeries]:
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
    at = series.c.project == project, is_listed()
    ids = sa.select(candidates.c.id).join(series, series.c.id == candidates.c.series).where(*at)
    found = connection.scalars(ids.where(candidates.c.order == order).limit(MOST)).all()
    known = candidates_numbered(connection, found)
    owners = {change.series for change in known}
    every = _series(connection, project, owners)
    if not every:
        raise NotFoundError(f"there is no project {project!r:.80}")
    c = commits.c
    named = sa.select(c.commit).where(c.project == project, c.order == order).order_by(c.commit)
    names = tuple(connection.scalars(named))
    results = results_between(connection, every, *_window(connection, project, order))
    is_measured = any(at == order for values in results.values() for at, _ in values)
    if not names and not known and not is_measured:
        raise NotFoundError(f"project {project!r:.80} has no commit at order {order}")
    changed = sorted(
        (_changed(every[change.series], change, results) for change in known),
        key=lambda entry: (-abs((entry.change and entry.change.hazard) or 0.0), entry.series.id),
    )
    others = {number: values for number, values in results.items() if number not in owners}
    described = commit_details.find(connection, project, names)
    suspects, is_complete = _suspects(connection, project, order, changed)
    return CommitChanges(
        *(project, order, names, _time(connection, sorted(owners), order), tuple(changed)),
        *_unmoved(every, others, order),
        total=count_rows(connection, series, series.c.project == project),
        compared=len(every),
        suspects=suspects,
        is_complete=is_complete,
        previous=_neighbour(connection, project, order, before=True),
        next=_neighbour(connection, project, order, before=False),
        tickets=tuple(tickets.find(connection, about=found, limit=None)),
        details=tuple(commit for commit in described.values() if any(commit[KEY:PARENT])),
    )


def _unmoved(
    every: Mapping[int, StoredSeries], results: Mapping[int, SettledResults], order: int
) -> tuple[tuple[ComparedSeries, ...], int, tuple[SilentSeries, ...]]:
    """Return the series that did not move, the number with too few results, and the silent ones."""
    quiet, too_few, silent = [], 0, defaultdict[str, list[int]](list)
    for owner, values in results.items():
        effect = effect_between(values, order - 1, order)
        if effect.after is None:
            silent[every[owner].name.variant].append(values[-1][0])
        elif effect.before is None:
            too_few += 1
        else:
            quiet.append(ComparedSeries(every[owner], effect))
    lists = (
        SilentSeries(variant, len(last), max(last)) for variant, last in sorted(silent.items())
    )
    return tuple(quiet), too_few, tuple(lists)


def _window(connection: sa.Connection, project: str, order: int) -> tuple[int, int]:
    """Return the orders between which results are compared."""
    c = commits.c
    orders = sa.select(c.order).where(c.project == project).distinct().limit(SPAN)
    old = connection.scalars(orders.where(c.order < order).order_by(c.order.desc())).all()
    new = connection.scalars(orders.where(c.order >= order).order_by(c.order)).all()
    if not old and not new:
        return order - SPAN, order + SPAN  # results of the project name no commits
    return min(old, default=order - 1), max(new, default=order)


def _series(connection: sa.Connection, project: str, needed: set[int]) -> dict[int, StoredSeries]:
    """Return the series to compare by their numbers: those that changed, and many others."""
    query = sa.select(series).where(series.c.project == project).order_by(series.c.id)
    rows = list(connection.execute(query.limit(MOST)))
    rest = sorted(needed - {row.id for row in rows})
    rows += rows_in(connection, sa.select(series), series.c.id, rest)
    return {row.id: stored_series(row) for row in rows}


def _changed(
    target: StoredSeries, change: CandidateRecord, results: Mapping[int, SettledResults]
) -> ComparedSeries:
    values = results.get(target.id, ())
    effect = Effect.of(change) or effect_between(values, change.order - 1, change.order)
    last = max((order for order, _ in values if order < change.order), default=None)
    return ComparedSeries(target, effect, change, last)


def _suspects(
    connection: sa.Connection, project: str, order: int, changed: Sequence[ComparedSeries]
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
    """Return when some series were first measured at an order."""
    p = points.c
    query = sa.select(sa.func.min(p.time)).where(p.series.in_(numbers[:CHUNK]), p.order == order)
    time: int | None = connection.scalar(query)
    return time


def _neighbour(connection: sa.Connection, project: str, order: int, *, before: bool) -> int | None:
    """Return the nearest order with candidates before or after one."""
    c = candidates.c
    nearest = sa.func.max(c.order) if before else sa.func.min(c.order)
    query = sa.select(nearest).join(series, series.c.id == c.series)
    query = query.where(c.order < order if before else c.order > order)
    found: int | None = connection.scalar(query.where(series.c.project == project, is_listed()))
    return found


def commit_text(changes: CommitChanges, url: str = "") -> str:
    """Return the effect of a commit as short lines of plain text.

    Args:
        changes: What `commit_changes` returns.
        url: Where the commit page is.
    """
    names = ", ".join(map(short_commit, changes.commits)) or place_text("", changes.order)
    name = middle_cut(names, WIDEST)
    lines = [printable(f"{changes.project}: performance at commit {name}".removeprefix(": "))]
    lines += [
        printable(" · ".join(filter(None, details[KEY:PARENT]))) for details in changes.details
    ]
    if changes.time is not None:
        lines.append(f"first measured {day(changes.time)}")
    for word, heading in HEADINGS.items():
        lines += _section(heading, changes.of(word))
    compared = len(changes.changed) + len(changes.quiet)
    if not changes.changed:
        lines += ["", "No series changed."]
    lines += ["", f"{len(changes.quiet):,} of {compared:,} series did not move."]
    if changes.too_few:
        lines.append(f"{changes.too_few:,} had too few results before it.")
    if waiting := sum(silent.count for silent in changes.silent):
        lines.append(f"{waiting:,} {'has' if waiting == 1 else 'have'} no result since.")
    if changes.changed:
        count = changes.suspects
        known = "this commit" if count == 1 else f"{count:,} known commits"
        suspected = f"{known}; commits that were not measured may lie between"
        if changes.is_complete:
            suspected = "this commit alone" if count == 1 else f"{count:,} commits"
        lines.append(f"Suspect range: {suspected}.")
    return "\n".join([*lines, *([url] if url else [])])


def _section(heading: str, changed: list[ComparedSeries]) -> list[str]:
    if not changed:
        return []
    sizes = [moved.effect.percent for moved in changed if moved.effect.percent is not None]
    middle = f", median {change_text(median(sizes))}" if len(sizes) > 1 else ""
    lines = ["", f"{heading}: {len(changed):,} series{middle}"]
    lines += [printable(f"- {_described(moved)}") for moved in changed[:LISTED]]
    if len(changed) > LISTED:
        lines.append(f"- and {len(changed) - LISTED:,} more")
    return lines


def _described(moved: ComparedSeries) -> str:
    size, name = moved.effect.size, moved.series.name
    rest = [name.measurement, name.variant, *(f"{key}={value}" for key, value in name.args)]
    title = middle_cut(" ".join(filter(None, [name.test, *rest])), WIDEST)
    text = "size unknown"
    if size is not None:
        levels = f"{number(size.before)} to {number(size.after)}"
        text = f"{change_text(size.percent)}, {levels} {unit_text(moved.series.unit)}".rstrip()
    if moved.change is not None and moved.change.probability is not None:
        text += f" ({probability_text(moved.change.probability)} real)"
    return f"{title}: {text}"
