"""The commits between two results: the measured ones, and those that git or a sender named.

Results alone never show that no other commit lies between them: the parents of the commits do.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.server.store.database import chunks
from barograph.server.store.schema import commit_details, commits

LONGEST = 1000  # commits without a result that are followed from one with a result

Bounds = tuple[int, int]  # the order of the last result before, and of the first one after


class KnownRange(NamedTuple):
    """The known commits after one order, up to another.

    Attributes:
        commits: Order and name of each, oldest first. The order is None without a result; names
            that share an order are joined by a blank.
        is_complete: Whether their parents show that no other commit lies between.
    """

    commits: tuple[tuple[int | None, str], ...]
    is_complete: bool


class _Line(NamedTuple):
    """The commits without a result right before a commit, newest first, and what they follow."""

    names: list[str]
    end: int | None = None  # the order of the measured commit that they follow, if it is known


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
        lines = _lines(connection, project, measured)
        for low, high in part:
            start = bisect_right(measured, low, key=itemgetter(0))
            end = bisect_left(measured, high + 1, key=itemgetter(0))
            ranges[low, high] = _range(low, high, measured[start:end], lines)
    return ranges


def _measured(
    connection: sa.Connection, project: str, part: Sequence[Bounds]
) -> list[tuple[int, str, str]]:
    """Return order, name and parent of the measured commits of ranges, "" if it is unknown."""
    c, d = commits.c, commit_details.c
    within = sa.or_(*(c.order.between(low, high) for low, high in part))
    query = (
        sa.select(c.order, c.commit, d.parent)
        .outerjoin(commit_details, sa.and_(d.project == c.project, d.commit == c.commit))
        .where(c.project == project, within)
        .order_by(c.order, c.commit)
    )
    return [(row.order, row.commit, row.parent or "") for row in connection.execute(query)]


def _lines(
    connection: sa.Connection, project: str, measured: Sequence[tuple[int, str, str]]
) -> dict[str, _Line]:
    """Follow the parents of measured commits, each up to the next measured or unknown one."""
    orders = {name: order for order, name, _ in measured}
    lines = {name: _Line([], orders.get(parent)) for _, name, parent in measured}
    missing = [name for _, name, parent in measured if parent and parent not in orders]
    for names in chunks(missing):
        for commit, parent, order in connection.execute(_followed(project, names)):
            if order is None:
                lines[commit].names.append(parent)
            else:
                lines[commit] = lines[commit]._replace(end=order)
    return lines


def _followed(project: str, names: Sequence[str]) -> sa.Select[Any]:
    """Return the query for the commits before others, newest first, each with its order."""
    c, d = commits.c, commit_details.c
    described = sa.and_(d.project == project, d.parent != "")
    first = sa.select(d.commit, d.parent, sa.cast(0, sa.Integer).label("place"))
    line = first.where(described, d.commit.in_(names)).cte("line", recursive=True)
    of_parent = sa.select(c.order).where(c.project == project, c.commit == line.c.parent)
    further = sa.select(line.c.commit, d.parent, line.c.place + 1)
    line = line.union_all(
        further.join(commit_details, sa.and_(described, d.commit == line.c.parent)).where(
            line.c.place < LONGEST, ~of_parent.exists()
        )
    )
    of_parent = sa.select(c.order).where(c.project == project, c.commit == line.c.parent)
    query = sa.select(line.c.commit, line.c.parent, of_parent.scalar_subquery())
    return query.order_by(line.c.commit, line.c.place)


def _range(
    low: int, high: int, measured: Sequence[tuple[int, str, str]], lines: dict[str, _Line]
) -> KnownRange:
    found: dict[str, int | None] = {}  # in order
    names: defaultdict[int, list[str]] = defaultdict(list)
    is_complete = bool(measured)
    for order, name, _ in measured:
        line = lines[name]
        found |= dict.fromkeys(reversed(line.names))
        is_complete &= line.end is not None and low <= line.end < order
        if order not in names:
            found[name] = order
        names[order].append(name)
    known = [
        (order, name if order is None else " ".join(names[order])) for name, order in found.items()
    ]
    return KnownRange(tuple(known) or ((high, ""),), is_complete)
