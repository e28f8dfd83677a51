"""The commits that may have caused a change, and which to run next to halve them.

A change lies between the last result before it and the first result after it. What siblings
measured at the commits in between narrows it further. Commits are known by results, by git, or by a
sender. Results alone never show that no other commit lies between them: the parents of the commits
do.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.server.store import commit_details, reading, schema
from barograph.server.store.candidate_records import get_candidate
from barograph.server.store.database import chunks
from barograph.server.store.schema import commits
from barograph.server.triage.effects import EdgeResult, Effect, SettledResults, effect_between
from barograph.server.triage.siblings import sibling_results

MOST = 200  # commits in an answer
LONGEST = 1000  # commits without a result that are followed from one with a result

Bounds = tuple[int, int]  # the order of the last result before, and of the first one after


@dataclass(frozen=True, slots=True)
class SuspectCommit:
    """A commit that may have caused a change.

    Attributes:
        order: Its order; None if it has no result.
        commit: Its name; several that share the order are joined by a blank.
        old: The number of siblings that were still at their old level.
        new: The number of siblings that had reached their new level.
        subject: The first line of its message; "" if unknown.
        author: Who wrote it; "" if unknown.
        url: Where it can be read; "" if unknown.
        is_likely: Whether it is among those that siblings leave.
    """

    order: int | None
    commit: str
    old: int = 0
    new: int = 0
    subject: str = ""
    author: str = ""
    url: str = ""
    is_likely: bool = False


@dataclass(frozen=True, slots=True)
class SuspectRange:
    """The commits that may have caused a change, oldest first.

    Attributes:
        last_before: The last result of the old level; None if there is none.
        first_after: The first result of the new level; None if it is gone.
        count: The number of known suspect commits.
        is_complete: Whether no other commit lies between the two results.
        commits: The suspect commits; of very many, those around the next one to run.
        next: The name of the commit to run next; None if fewer than two are known.
        siblings: The number of siblings that moved and so can say something.
    """

    last_before: EdgeResult | None
    first_after: EdgeResult | None
    count: int
    is_complete: bool
    commits: tuple[SuspectCommit, ...]
    next: str | None
    siblings: int


def suspects(connection: sa.Connection, candidate: int) -> SuspectRange:
    """Return the commits that may have caused a candidate.

    Args:
        connection: From `Store.read`.
        candidate: Number of the candidate.

    Raises:
        NotFoundError: There is no such candidate.
    """
    change = get_candidate(connection, candidate)
    beside, others = sibling_results(connection, change)
    last = beside.before[-1] if beside.before else None
    first = beside.after[0] if beside.after else None
    if last is None or first is None:
        return SuspectRange(last, first, 0, False, (), None, 0)
    project = reading.get_series(connection, change.series).name.project
    bounds = last.order, first.order
    known = known_ranges(connection, project, [bounds])[bounds]
    moved = [
        (effect, results)
        for _, results in others
        if (effect := effect_between(results, *bounds)).is_clear
    ]
    old, new = _votes(moved)
    likely = _narrowed([new[order] - old[order] for order, _ in known.commits])
    count = len(known.commits)
    chosen = _middle(count, likely)
    start = max(0, min((chosen or 0) - MOST // 2, count - MOST))
    shown = known.commits[start : start + MOST]
    details = commit_details.find(connection, project, (name for _, name in shown))
    listed = []
    for k, (order, name) in enumerate(shown, start):
        votes, facts = (old[order], new[order]), details[name]
        texts = facts.subject, facts.author, facts.url
        listed.append(SuspectCommit(order, name, *votes, *texts, is_likely=k in likely))
    following = None if chosen is None else known.commits[chosen][1]
    return SuspectRange(last, first, count, known.is_complete, tuple(listed), following, len(moved))


def _votes(
    moved: Iterable[tuple[Effect, SettledResults]],
) -> tuple[Counter[int | None], Counter[int | None]]:
    """Return the number of siblings at their old and at their new level, by order."""
    old, new = Counter[int | None](), Counter[int | None]()
    for effect, results in moved:
        if (levels := effect.size) is None:
            continue
        for order, value in results:
            is_new = abs(value - levels.after) < abs(value - levels.before)
            (new if is_new else old)[order] += 1
    return old, new


def _narrowed(leads: Sequence[int]) -> range:
    """Return the places that the majority of siblings leaves, none if they say nothing.

    The change came after the last commit where most were at the old level, and no later than the
    first one after it where most were at the new level.

    Args:
        leads: For each suspect commit, how many more siblings were at the new level.
    """
    start = max((k + 1 for k, lead in enumerate(leads) if lead < 0), default=0)
    end = next((k + 1 for k in range(start, len(leads)) if leads[k] > 0), len(leads))
    # If none is left, the siblings changed later than this series.
    return range(start, end) if end - start < len(leads) else range(0)


def _middle(count: int, likely: range) -> int | None:
    """Return the place of the commit whose result halves what is left.

    The last commit has a result: the first one of the new level.
    """
    if count < 2:
        return None
    left = likely or range(count)
    if len(left) > 1:
        return left[len(left) // 2 - 1]
    # Siblings leave a single commit. A result there, or just before the last one, confirms it.
    return min(left.start, count - 2)


class KnownRange(NamedTuple):
    """The known commits after one order, up to another.

    Attributes:
        commits: Order and name of each, oldest first. The order is None without a result; names
            that share an order are joined by a blank.
        is_complete: Whether their parents show that no other commit lies between.
    """

    commits: tuple[tuple[int | None, str], ...]
    is_complete: bool


def known_ranges(
    connection: sa.Connection, project: str, bounds: Iterable[Bounds]
) -> dict[Bounds, KnownRange]:
    """Return what is known about the commits of a project between results.

    Args:
        connection: From `Store.read`.
        project: Name of the project.
        bounds: The orders before and at the end of each range.
    """
    ranges: dict[Bounds, KnownRange] = {}
    for part in chunks(sorted(set(bounds))):
        measured = _measured(connection, project, part)
        chains = _chains(connection, project, measured)
        for low, high in part:
            start = bisect_right(measured, low, key=itemgetter(0))
            end = bisect_left(measured, high + 1, key=itemgetter(0))
            ranges[low, high] = _range(low, high, measured[start:end], chains)
    return ranges


def _measured(
    connection: sa.Connection, project: str, part: Sequence[Bounds]
) -> list[tuple[int, str, str]]:
    """Return order, name and parent of the measured commits of ranges, "" if it is unknown."""
    c, d = commits.c, schema.commit_details.c
    within = sa.or_(*(c.order.between(low, high) for low, high in part))
    query = (
        sa.select(c.order, c.commit, d.parent)
        .outerjoin(schema.commit_details, sa.and_(d.project == c.project, d.commit == c.commit))
        .where(c.project == project, within)
        .order_by(c.order, c.commit)
    )
    return [(row.order, row.commit, row.parent or "") for row in connection.execute(query)]


def _chains(
    connection: sa.Connection, project: str, measured: Sequence[tuple[int, str, str]]
) -> dict[str, list[tuple[str, int | None]]]:
    """Return the commits before each measured one, newest first, with their orders.

    A chain ends at the next measured or unknown commit; only a measured one has an order.
    """
    orders = {name: order for order, name, _ in measured}
    chains: dict[str, list[tuple[str, int | None]]] = {
        name: [(parent, orders[parent])] for _, name, parent in measured if parent in orders
    }
    further = [name for _, name, parent in measured if parent and parent not in orders]
    for names in chunks(further):
        for commit, parent, order in connection.execute(_followed(project, names)):
            chains.setdefault(commit, []).append((parent, order))
    return chains


def _followed(project: str, names: Sequence[str]) -> sa.Select[Any]:
    """Return the query for the commits before others, newest first, each with its order."""
    c, d = commits.c, schema.commit_details.c
    described = sa.and_(d.project == project, d.parent != "")
    first = sa.select(d.commit, d.parent, sa.cast(0, sa.Integer).label("place"))
    line = first.where(described, d.commit.in_(names)).cte("line", recursive=True)
    of_parent = sa.select(c.order).where(c.project == project, c.commit == line.c.parent)
    further = sa.select(line.c.commit, d.parent, line.c.place + 1)
    line = line.union_all(
        further.join(schema.commit_details, sa.and_(described, d.commit == line.c.parent)).where(
            line.c.place < LONGEST, ~of_parent.exists()
        )
    )
    of_parent = sa.select(c.order).where(c.project == project, c.commit == line.c.parent)
    query = sa.select(line.c.commit, line.c.parent, of_parent.scalar_subquery())
    return query.order_by(line.c.commit, line.c.place)


def _range(
    low: int,
    high: int,
    measured: Sequence[tuple[int, str, str]],
    chains: Mapping[str, Sequence[tuple[str, int | None]]],
) -> KnownRange:
    found: dict[str, int | None] = {}  # in order
    names: defaultdict[int, list[str]] = defaultdict(list)
    is_complete = bool(measured)
    for order, name, _ in measured:
        chain = chains.get(name, ())
        found |= dict.fromkeys(parent for parent, at in reversed(chain) if at is None)
        is_complete &= any(at is not None and low <= at < order for _, at in chain[-1:])
        if order not in names:
            found[name] = order
        names[order].append(name)
    known = [
        (order, name if order is None else " ".join(names[order])) for name, order in found.items()
    ]
    return KnownRange(tuple(known) or ((high, ""),), is_complete)
