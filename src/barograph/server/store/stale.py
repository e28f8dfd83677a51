"""Which series have candidates that are older than their points.

Ingest marks the series that it changes. The refresh reads the oldest of them, computes outside any
transaction, and claims those whose points have not changed meanwhile.
"""

import time
from collections.abc import Iterable

import sqlalchemy as sa

from barograph.server.store.database import Insertion, count_rows
from barograph.server.store.schema import touched

MARK = Insertion(touched, ("series", "version"), replace=("version",))


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
