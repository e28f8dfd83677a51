"""The queue of candidates that wait for a verdict, and those that have one.

Candidates are filtered, grouped by cause, and sorted. All open ones are read in one query and
filtered in memory: five thousand take less time than the indexes would that each combination of
filters needs. They are read once for each revision of the store.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from statistics import fmean
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.results.series import LABELS, SeriesId, Verdict
from barograph.results.wording import CHANGED, TREND
from barograph.runtime.errors import DataError, NotFoundError
from barograph.server.store import arrivals as arriving
from barograph.server.store import commit_details
from barograph.server.store.audit import now
from barograph.server.store.commit_details import CommitDetails
from barograph.server.store.database import revision, rows_in
from barograph.server.store.schema import (
    arrivals,
    candidates,
    series,
    verdict_batches,
    verdicts,
)
from barograph.server.triage.effects import Effect, levels
from barograph.server.triage.filters import EFFECTS, STATES, QueueFilter, refusal
from barograph.server.triage.grouping import CauseGroup, QueueEntry, by_cause, sorted_groups
from barograph.server.triage.patterns import KINDS, kind_of, pattern_pairs
from barograph.server.triage.suspects import KnownRange, known_ranges

PAGE = 100  # groups, or processed candidates
MEMORY = 8  # sets of candidates that are kept
KNOWN = 200_000  # series whose names are kept in memory
BATCHES = 60  # latest verdicts of a person that the pace is from
SINCE = 30 * 86_400_000  # milliseconds; older ones do not count
BREAK = 5 * 60_000  # a longer time between two verdicts is a break
LEAST = 10  # times between verdicts, below which there is no pace
_C, _S = candidates.c, series.c
NAMES = (*LABELS, "args")
COLUMNS = (
    *(_C.id, _C.version, _C.series, _C.order, _C.last_before, _C.commit, _C.trend, _C.hazard),
    *(_C.probability, sa.func.coalesce(_C.detected_on, _C.calculated_on), _C.verdict, _C.present),
    *(_S.direction, *(_S[name] for name in NAMES)),
)
HAZARD = COLUMNS.index(_C.hazard)

_read: deque[tuple[tuple[object, ...], list[QueueEntry]]] = deque(maxlen=MEMORY)


@dataclass(frozen=True)
class QueuePage:
    """A page of the queue.

    Attributes:
        groups: The groups of the page.
        previous: The group before the first, if there is one.
        total: The number of groups on all pages.
        members: The number of candidates in them.
        series: The number of their series.
        commits: The number of suspect ranges.
        effects: The number of groups for each value of `QueueFilter.effect`.
        hidden: The number of groups that are hidden, by kind.
        newest: When the newest candidate was found, in milliseconds.
        newer: The number of groups whose candidates were all found after a given time.
        ranges: The commits that can be the cause, by project, `last_before` and `order`.
        details: What is known about the last commits that can be the cause, by project and name.
    """

    groups: Sequence[CauseGroup]
    previous: CauseGroup | None = None
    total: int = 0
    members: int = 0
    series: int = 0
    commits: int = 0
    effects: dict[str, int] = field(default_factory=dict)
    hidden: dict[str, int] = field(default_factory=dict)
    newest: int = 0
    newer: int = 0
    ranges: dict[tuple[str, int, int], KnownRange] = field(default_factory=dict)
    details: dict[tuple[str, str], CommitDetails] = field(default_factory=dict)


def open_groups(
    connection: sa.Connection,
    queue_filter: QueueFilter | None = None,
    *,
    offset: int = 0,
    limit: int = PAGE,
    newer_than: int | None = None,
) -> QueuePage:
    """Return a page of groups.

    Args:
        connection: From `Store.read`.
        queue_filter: The filter; by default all open candidates except those of hidden kinds.
        offset: The number of groups on the pages before.
        limit: The maximum number of groups.
        newer_than: Count the groups that were found after this time, in milliseconds.
    """
    queue_filter = queue_filter or QueueFilter()
    groups = every_group(connection, queue_filter)
    hidden = Counter(group.kind for group in groups if queue_filter.is_hidden(group.kind))
    shown = [group for group in groups if not queue_filter.is_hidden(group.kind)]
    effects = Counter(name for group in shown for name in EFFECTS if group.effect in EFFECTS[name])
    if queue_filter.effect:
        shown = [group for group in shown if group.effect in EFFECTS[queue_filter.effect]]
    ordered = sorted_groups(shown, queue_filter.sort)
    members = [entry for group in ordered for entry in group.members]
    page = ordered[offset : offset + limit]
    return QueuePage(
        groups=page,
        previous=ordered[offset - 1] if 0 < offset <= len(ordered) else None,
        total=len(ordered),
        members=len(members),
        series=len({entry.series for entry in members}),
        commits=len({(group.project, group.order) for group in ordered}),
        effects={name: effects[name] for name in EFFECTS},
        hidden={kind: hidden[kind] for kind in KINDS if hidden[kind]},
        newest=max((entry.detected_on or 0 for entry in members), default=0),
        newer=0
        if newer_than is None
        else sum((group.detected_on or 0) > newer_than for group in ordered),
        **_causes(connection, page),
    )


def every_group(connection: sa.Connection, queue_filter: QueueFilter) -> list[CauseGroup]:
    """Return all groups that a filter lets through, whatever their effect or kind."""
    found = queue_filter.within(_candidates(connection, queue_filter), now())
    return by_cause(filter(queue_filter.lets_through, found))


def get_group(connection: sa.Connection, queue_filter: QueueFilter, candidate: int) -> CauseGroup:
    """Return the group of a candidate.

    Raises:
        DataError: The filter does not let the candidate through.
    """
    for group in every_group(connection, replace(queue_filter, show=KINDS)):
        if any(entry.id == candidate for entry in group.members):
            return group
    raise NotFoundError(f"candidate {candidate} is not in the queue")


def label_values(connection: sa.Connection, name: str) -> list[tuple[str, int]]:
    """Return the values of a label in the open candidates with their counts, most frequent first.

    Args:
        connection: From `Store.read`.
        name: One of the labels, or "args".
    """
    if name not in NAMES:
        raise DataError(refusal("label", name, NAMES))
    found = [entry.identity for entry in _candidates(connection, QueueFilter())]
    if name == "args":
        counts = Counter(f"{key}={value}" for identity in found for key, value in identity.args)
    else:
        counts = Counter(getattr(identity, name) for identity in found)
    return [pair for pair in counts.most_common() if pair[0]]


def _candidates(connection: sa.Connection, queue_filter: QueueFilter) -> list[QueueEntry]:
    """Return the candidates in the state of a filter.

    They are remembered for a revision of the store. Another transaction than those of ingest makes
    a new one, in whichever process it runs.
    """
    state, ids, c = queue_filter.state, queue_filter.ids, candidates.c
    key = revision(connection), state, ids
    for known, kept in tuple(_read):
        if known == key:
            return kept
    query = sa.select(*COLUMNS).join(series, series.c.id == c.series)
    verdict, present = STATES["any" if ids and state == "open" else state]
    for column, value in ((c.verdict, verdict), (c.present, present)):
        if value is not None:
            query = query.where(column == value)
    if ids:
        read = list(entries(connection, list(rows_in(connection, query, c.id, ids))))
    else:
        read = list(entries(connection, connection.execute(query).all()))
    _read.appendleft((key, read))
    return read


def entries(connection: sa.Connection, rows: Sequence[Sequence[Any]]) -> Iterator[QueueEntry]:
    """Yield the candidates of rows that begin with `COLUMNS`."""
    patterns = pattern_pairs(connection)
    unsized = levels(connection, [row[0] for row in rows if row[HAZARD] is None])
    for row in rows:
        number, version, owner, order, last_before, commit, is_trend, hazard, *rest = row
        probability, detected_on, verdict, present, direction, *further = rest
        identity, name = _series(*further[: len(NAMES)])
        effect = TREND if is_trend else _effect(hazard, direction, unsized.get(number))
        yield QueueEntry(
            *(number, version, owner, identity, name, kind_of(patterns, name), order),
            *(order - 1 if last_before is None else last_before, commit),
            *(effect, hazard, probability, detected_on, verdict, present),
        )


@lru_cache(KNOWN)
def _series(*labels: str) -> tuple[SeriesId, str]:
    """Return the identity of a series, and its name."""
    identity = SeriesId.from_row(dict(zip(NAMES, labels, strict=True)))
    return identity, str(identity)


def _effect(hazard: float | None, direction: int, known: Effect | None) -> str:
    """Return what a change is, in one word: see `QueueEntry.effect`."""
    worse = hazard
    if worse is None and known is not None and known.size is not None:
        worse = known.size.percent * (-direction or 1)
    if not worse:
        return CHANGED
    return (("worse", "better") if direction else ("rose", "fell"))[worse < 0]


def _causes(connection: sa.Connection, groups: Sequence[CauseGroup]) -> dict[str, Any]:
    """Return `ranges` and `details` of a page."""
    ranges: dict[tuple[str, int, int], KnownRange] = {}
    details: dict[tuple[str, str], CommitDetails] = {}
    for project in {group.project for group in groups}:
        members = [group for group in groups if group.project == project]
        bounds = {(group.last_before, group.order) for group in members}
        known = known_ranges(connection, project, bounds)
        ranges |= {(project, *place): commits for place, commits in known.items()}
        found = commit_details.find(connection, project, {group.commit for group in members})
        details |= {(project, name): facts for name, facts in found.items()}
    return {"ranges": ranges, "details": details}


class ProcessedEntry(NamedTuple):
    """A candidate with its current verdict.

    Attributes:
        entry: The candidate.
        verdict: The verdict.
        who: Who gave it, "" if unknown.
        time: When, in milliseconds; None if unknown.
        reason: Why, in a word or two.
        note: Why, at length.
        scored: The probability that the candidate had then; None if unknown.
    """

    entry: QueueEntry
    verdict: Verdict
    who: str
    time: int | None
    reason: str
    note: str
    scored: float | None


class ProcessedPage(NamedTuple):
    """A page of processed candidates, and the number of all by verdict."""

    entries: list[ProcessedEntry]
    counts: dict[str, int]
    more: bool


def processed(
    connection: sa.Connection,
    queue_filter: QueueFilter | None = None,
    verdict: Verdict | None = None,
    *,
    who: str = "",
    offset: int = 0,
    limit: int = PAGE,
) -> ProcessedPage:
    """Return candidates that have a verdict, the latest first.

    Args:
        connection: From `Store.read`.
        queue_filter: A filter of labels, text, hazard and probability; its state has no effect.
        verdict: Only this verdict.
        who: Only verdicts of this person.
        offset: The number of candidates on the pages before.
        limit: The maximum number of candidates.
    """
    queue_filter, query, c = queue_filter or QueueFilter(), _query(verdict, who), candidates.c
    by_verdict = sa.select(c.verdict, sa.func.count()).group_by(c.verdict)
    counts = dict(tuple(row) for row in connection.execute(by_verdict))
    shown: list[ProcessedEntry] = []
    # Rows are read until the page is full: a text filter needs the printed names.
    for part in connection.execute(query.execution_options(yield_per=500)).partitions():
        for row, entry in zip(part, entries(connection, part), strict=True):
            if queue_filter.lets_through(entry):
                person, time, reason, note, scored = row[len(COLUMNS) :]
                facts = Verdict(entry.verdict), person or "", time, reason or "", note or "", scored
                shown.append(ProcessedEntry(entry, *facts))
        if len(shown) > offset + limit:
            break
    page = shown[offset : offset + limit]
    return ProcessedPage(page, counts, more=len(shown) > offset + limit)


def _query(verdict: Verdict | None, who: str) -> sa.Select[Any]:
    """Return the query for candidates with a verdict, each with its latest entry."""
    c, v = candidates.c, verdicts.alias().c
    latest = sa.select(sa.func.max(verdicts.c.id)).where(verdicts.c.candidate == c.id)
    query = (
        sa.select(*COLUMNS, v.who, sa.func.coalesce(v.time, c.triaged_on), v.reason, v.note)
        .add_columns(v.probability)
        .join(series, series.c.id == c.series)
        .outerjoin(v.id.table, v.id == latest.correlate(candidates).scalar_subquery())
        .where(c.verdict != Verdict.NOT_TRIAGED.value)
        .order_by(sa.func.coalesce(c.triaged_on, 0).desc(), c.id.desc())
    )
    if verdict is not None:
        query = query.where(c.verdict == verdict.value)
    return query.where(v.who == who) if who else query


@dataclass(frozen=True)
class BoardOverview:
    """What every page of the board shows.

    Attributes:
        groups: The number of groups in the queue.
        change_points: The number of change points in them.
        silent: The number of series that fell silent.
        suspects: The number of series whose newest result waits for a rerun.
        last_result: When the newest result was measured, in milliseconds; None without any.
        seconds_left: How long the queue takes at the pace of the person; None if that is unknown.
    """

    groups: int
    change_points: int
    silent: int
    suspects: int
    last_result: int | None
    seconds_left: float | None


def overview(connection: sa.Connection, who: str) -> BoardOverview:
    """Return the state of the board for a person.

    Args:
        connection: From `Store.read`.
        who: The name of the person.
    """
    timestamp = now()
    page, counts = open_groups(connection, limit=0), arriving.counts(connection, timestamp)
    last = connection.scalar(sa.select(sa.func.max(arrivals.c.last)))
    left = seconds_left(connection, who, page.total, timestamp)
    return BoardOverview(page.total, page.members, counts.silent, counts.suspects, last, left)


def seconds_left(
    connection: sa.Connection, who: str, groups: int, timestamp: int | None = None
) -> float | None:
    """Return how long groups take at the pace of a person's latest verdicts; None if unknown."""
    v, timestamp = verdict_batches.c, now() if timestamp is None else timestamp
    latest = sa.select(v.time).where(v.who == who, v.time >= timestamp - SINCE)
    times = list(connection.scalars(latest.order_by(v.id.desc()).limit(BATCHES)))
    gaps = [later - earlier for later, earlier in pairwise(times) if later - earlier <= BREAK]
    return groups * fmean(gaps) / 1000 if len(gaps) >= LEAST else None
