"""The queue of candidates that wait for a verdict: filtered, grouped by cause, and sorted.

All open candidates are read in one query and filtered in memory: five thousand take less time than
the indexes would that each combination of filters needs.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from barograph.errors import DataError
from barograph.series import LABELS, SeriesId
from barograph.store import commit_details
from barograph.store.audit import now
from barograph.store.commit_details import CommitDetails
from barograph.store.schema import candidates, clusters, commits, series
from barograph.triage.filters import EFFECTS, STATES, QueueFilter, refusal
from barograph.triage.grouping import CauseGroup, QueueEntry, by_cause, sorted_groups
from barograph.triage.patterns import KINDS, PatternSet, compiled, stored_patterns

PAGE = 100  # groups
CHUNK = 500  # candidates, or ranges, in one condition
_C, _S = candidates.c, series.c
COLUMNS = (
    *(_C.id, _C.version, _C.series, _C.order, _C.last_before, _C.commit, _C.hazard),
    *(_C.probability, sa.func.coalesce(_C.found, _C.calculated_on), _C.verdict, _C.present),
    # The regions are long, and of use here only where there is no hazard.
    *(sa.case((_C.hazard.is_(None), region)) for region in (_C.before, _C.after)),
    *(_S.project, _S.variant, _S.task, _S.test, _S.measurement, _S.args, _S.direction),
)


@dataclass(frozen=True)
class QueuePage:
    """A page of the queue.

    Attributes:
        groups: The groups of the page.
        previous: The group before the first, if there is one.
        total: The number of groups on all pages.
        members: The number of candidates in them.
        commits: The number of suspect ranges.
        effects: The number of groups for each value of `QueueFilter.effect`.
        hidden: The number of groups that are hidden, by kind.
        newest: When the newest candidate was found, in milliseconds.
        newer: The number of groups whose candidates were all found after a given time.
        firsts: The first commit that can be the cause, by project and `last_before`.
        details: What is known about the last commits that can be the cause, by project and name.
    """

    groups: Sequence[CauseGroup]
    previous: CauseGroup | None = None
    total: int = 0
    members: int = 0
    commits: int = 0
    effects: dict[str, int] = field(default_factory=dict)
    hidden: dict[str, int] = field(default_factory=dict)
    newest: int = 0
    newer: int = 0
    firsts: dict[tuple[str, int], tuple[str, int]] = field(default_factory=dict)
    details: dict[tuple[str, str], CommitDetails] = field(default_factory=dict)


def open_groups(
    connection: sa.Connection,
    wanted: QueueFilter | None = None,
    *,
    offset: int = 0,
    limit: int = PAGE,
    newer_than: int | None = None,
) -> QueuePage:
    """Return a page of groups.

    Args:
        connection: From `Store.read`.
        wanted: The filter; by default all open candidates except those of hidden kinds.
        offset: The number of groups on the pages before.
        limit: The maximum number of groups.
        newer_than: Count the groups that were found after this time, in milliseconds.
    """
    wanted = wanted or QueueFilter()
    groups = every_group(connection, wanted)
    hidden = Counter(group.kind for group in groups if wanted.is_hidden(group.kind))
    shown = [group for group in groups if not wanted.is_hidden(group.kind)]
    effects = Counter(name for group in shown for name in EFFECTS if group.effect in EFFECTS[name])
    if wanted.effect:
        shown = [group for group in shown if group.effect in EFFECTS[wanted.effect]]
    ordered = sorted_groups(shown, wanted.sort)
    page = ordered[offset : offset + limit]
    return QueuePage(
        groups=page,
        previous=ordered[offset - 1] if 0 < offset <= len(ordered) else None,
        total=len(ordered),
        members=sum(len(group.members) for group in ordered),
        commits=len({(group.project, group.order) for group in ordered}),
        effects={name: effects[name] for name in EFFECTS},
        hidden={kind: hidden[kind] for kind in KINDS if hidden[kind]},
        newest=max((one.found or 0 for group in ordered for one in group.members), default=0),
        newer=sum(
            newer_than is not None and all((one.found or 0) > newer_than for one in group.members)
            for group in ordered
        ),
        firsts=first_suspects(connection, page),
        details={
            (project, name): one
            for project in {group.project for group in page}
            for name, one in commit_details.find(
                connection, project, (own.commit for own in page if own.project == project)
            ).items()
        },
    )


def every_group(connection: sa.Connection, wanted: QueueFilter) -> list[CauseGroup]:
    """Return all groups that a filter lets through, whatever their effect or kind."""
    entries = list(_entries(connection, wanted))
    if wanted.has_conditions:
        entries = [one for one in entries if wanted.lets_through(one)]
    return by_cause(wanted.within(entries, now()), _steps(connection, wanted))


def one_group(connection: sa.Connection, wanted: QueueFilter, candidate: int) -> CauseGroup:
    """Return the group of a candidate.

    Raises:
        DataError: The filter does not let the candidate through.
    """
    for group in every_group(connection, replace(wanted, show=KINDS)):
        if any(one.id == candidate for one in group.members):
            return group
    raise DataError(f"candidate {candidate} is not in the queue")


def label_values(connection: sa.Connection, name: str) -> list[tuple[str, int]]:
    """Return the values of a label in the open candidates with their counts, most frequent first.

    Args:
        connection: From `Store.read`.
        name: One of the labels, or "args".
    """
    if name not in (*LABELS, "args"):
        raise DataError(refusal("label", name, (*LABELS, "args")))
    counts: Counter[str] = Counter()
    for entry in _entries(connection, QueueFilter()):
        if name == "args":
            counts.update(f"{key}={value}" for key, value in entry.identity.args)
        else:
            counts[getattr(entry.identity, name)] += 1
    return [pair for pair in counts.most_common() if pair[0]]


def _entries(connection: sa.Connection, wanted: QueueFilter) -> Iterator[QueueEntry]:
    """Yield the candidates in the state of a filter."""
    c = candidates.c
    query = sa.select(*COLUMNS).join(series, series.c.id == c.series)
    verdict, present = STATES["any" if wanted.ids and wanted.state == "open" else wanted.state]
    if verdict is not None:
        query = query.where(c.verdict == verdict)
    if present is not None:
        query = query.where(c.present == present)
    chunks = [wanted.ids[first : first + CHUNK] for first in range(0, len(wanted.ids), CHUNK)]
    queries = [query.where(c.id.in_(chunk)) for chunk in chunks] if chunks else [query]
    known = compiled(stored_patterns(connection))
    for one in queries:
        for row in connection.execute(one).all():
            yield queue_entry(tuple(row), known)


@lru_cache(50_000)
def queue_entry(row: tuple[Any, ...], known: PatternSet) -> QueueEntry:
    """Return a candidate from the values of `COLUMNS`; most are the same as at the last look."""
    number, version, owner, order, last_before, commit, hazard, *rest = row
    probability, found, verdict, present, before, after, *labels, direction = rest
    identity, name = _identity(*labels)
    return QueueEntry(
        number,
        version,
        owner,
        identity,
        name,
        known.kind_of(name),
        order,
        order - 1 if last_before is None else last_before,
        commit,
        _effect(hazard, direction, before, after),
        hazard,
        probability,
        found,
        verdict,
        present,
    )


@lru_cache(200_000)
def _identity(
    project: str, variant: str, task: str, test: str, measurement: str, args: str
) -> tuple[SeriesId, str]:
    """Return the identity of a series, and how it is printed."""
    pairs = tuple(json.loads(args).items()) if args != "{}" else ()
    identity = SeriesId(project, variant, task, test, measurement, pairs)
    return identity, str(identity)


def _effect(hazard: float | None, direction: int, before: str | None, after: str | None) -> str:
    """Return what a change is, in one word: see `QueueEntry.effect`."""
    if hazard is not None:
        words = ("worse", "better") if direction else ("rose", "fell")
        return words[hazard < 0]
    if before is None or after is None:
        return "changed"
    rise = json.loads(after)["mean"] - json.loads(before)["mean"]
    if not direction:
        return "rose" if rise >= 0 else "fell"
    return "better" if (rise > 0) == (direction > 0) else "worse"


def _steps(
    connection: sa.Connection, wanted: QueueFilter
) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """Return the current clusters of each series, with the order of their step."""
    query = sa.select(clusters.c.id, clusters.c.project, clusters.c.order, clusters.c.members)
    query = query.where(clusters.c.current).order_by(sa.func.abs(clusters.c.regression).desc())
    if wanted.project and not any(sign in wanted.project for sign in "*?["):
        query = query.where(clusters.c.project == wanted.project)
    found: defaultdict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for number, project, order, members in connection.execute(query):
        for member in json.loads(members):
            found[project, int(member)].append((order, number))
    return found


def first_suspects(
    connection: sa.Connection, groups: Sequence[CauseGroup]
) -> dict[tuple[str, int], tuple[str, int]]:
    """Return the first suspect commit of groups whose range has several, and the number of them."""
    c = commits.c
    ranges = {(group.project, group.last_before, group.order) for group in groups}
    wide = [one for one in ranges if one[2] - one[1] > 1]
    found: dict[tuple[str, int], tuple[str, int]] = {}
    for project in {one[0] for one in wide}:
        own = [(low, high) for name, low, high in wide if name == project]
        known: set[tuple[int, str]] = set()
        for first in range(0, len(own), CHUNK):
            part = own[first : first + CHUNK]
            within_part = sa.or_(*(sa.and_(c.order > low, c.order <= high) for low, high in part))
            query = sa.select(c.order, c.commit).where(c.project == project, within_part)
            known.update((row.order, row.commit) for row in connection.execute(query))
        names = sorted(known)
        for low, high in own:
            within = [name for order, name in names if low < order <= high]
            if len(within) > 1:
                found[project, low] = (within[0], len(within))
    return found
