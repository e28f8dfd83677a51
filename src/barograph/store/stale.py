"""Which series have candidates that are older than their points."""

import time
from collections.abc import Iterable

import sqlalchemy as sa

from barograph.store.rows import Insertion
from barograph.store.schema import touched

TOUCH = Insertion(touched, ("series", "version"), replace=("version",))


def touch(connection: sa.Connection, changed: Iterable[int]) -> None:
    """Let series wait for a look."""
    version = time.time_ns()
    TOUCH.into(connection, [(series, version) for series in changed])


def waiting(connection: sa.Connection) -> int:
    """How many series wait for a look."""
    return connection.execute(sa.select(sa.func.count()).select_from(touched)).scalar_one()


def longest(connection: sa.Connection, count: int) -> dict[int, int]:
    """Return the series that wait longest, each with the version of its points."""
    t = touched.c
    query = sa.select(t.series, t.version).order_by(t.version, t.series).limit(count)
    return dict(connection.execute(query).all())


def claim(connection: sa.Connection, versions: dict[int, int]) -> set[int]:
    """Return the series whose points are still of these versions; they wait no longer."""
    t = touched.c
    query = sa.select(t.series, t.version).where(t.series.in_(versions))
    same = {one for one, version in connection.execute(query) if version == versions[one]}
    connection.execute(sa.delete(touched).where(t.series.in_(same)))
    return same
