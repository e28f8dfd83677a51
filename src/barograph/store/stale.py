"""Which series have candidates, or decisions, that are older than their points.

Ingest marks the series that it changes. The refresh reads the oldest of them, computes outside any
transaction, and claims those whose points have not changed meanwhile.

Decisions are older while those after a late result are made again, in several transactions.
"""

import time
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

import sqlalchemy as sa

from barograph.store.database import Insertion, count_rows
from barograph.store.schema import touched, unjudged

MARK = Insertion(touched, ("series", "version"), replace=("version",))
UNJUDGED = Insertion(unjudged, ("series", "order"), replace=("order",))


def mark(connection: sa.Connection, changed: Iterable[int]) -> None:
    """Mark series as stale, with a new version of their points."""
    version = time.time_ns()
    MARK.into(connection, [(series, version) for series in changed])


def count(connection: sa.Connection) -> int:
    """Return how many series are stale."""
    return count_rows(connection, touched)


def lag(connection: sa.Connection) -> tuple[int, int | None]:
    """Return how many series are stale, and since when the first, in milliseconds since 1970."""
    query = sa.select(sa.func.count(), sa.func.min(touched.c.version)).select_from(touched)
    waiting, version = connection.execute(query).one()
    return waiting, None if version is None else version // 1_000_000


def oldest(connection: sa.Connection, limit: int) -> dict[int, int]:
    """Return the series that have been stale longest, each with the version of its points."""
    t = touched.c
    query = sa.select(t.series, t.version).order_by(t.version, t.series).limit(limit)
    return dict(connection.execute(query).all())


def claim(connection: sa.Connection, versions: dict[int, int]) -> set[int]:
    """Return the series whose points still have these versions; they are stale no longer."""
    t = touched.c
    query = sa.select(t.series, t.version).where(t.series.in_(versions))
    current = {
        series for series, version in connection.execute(query) if version == versions[series]
    }
    connection.execute(sa.delete(touched).where(t.series.in_(current)))
    return current


def unjudged_from(connection: sa.Connection) -> dict[int, int]:
    """Return the order from which decisions are to be made again, by series."""
    return dict(connection.execute(sa.select(unjudged)).all())


def note_unjudged(
    connection: sa.Connection, left: Mapping[int, int], done: AbstractSet[int]
) -> None:
    """Note from which orders the decisions of series are left, and which series are done."""
    if done:
        connection.execute(sa.delete(unjudged).where(unjudged.c.series.in_(done)))
    UNJUDGED.into(connection, list(left.items()))
