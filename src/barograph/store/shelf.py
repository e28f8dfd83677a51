"""Where points lie: the newest few of each series in a small table, all others in the large one.

A commit brings one point of each of many series. In the table of all points each would cost a page
of its own, read, logged and written back; in the small one many series share a page. Every so many
points the newest of a series go to their place beside the others, in the same transaction; series
take turns. Whatever else changes a history, a late point or another value, finds the newest put
there before.

So no point among the newest stands before one of the others, of the same series. PostgreSQL does
without: it puts rows wherever there is room, and there the moves would cost more than they save.
"""

from collections.abc import Iterable

import sqlalchemy as sa

from barograph.store.schema import newest, points

EVERY = 16  # points of a series between two times that its newest are put beside the others
CHUNK = 500  # series in one statement
BOTH = (points, newest)
# What readers ask; databases take conditions and order into both tables, and find rows by key.
ALL = sa.union_all(*map(sa.select, BOTH)).subquery("every_point")


def lies_apart(connection: sa.Connection) -> bool:
    """Whether this database gains by it that the newest points lie apart."""
    return connection.dialect.name == "sqlite"


def has_turn(series: int, before: int, after: int, every: int) -> bool:
    """Whether the turn of a series comes as it grows, once in so many points."""
    return (before + series) // every != (after + series) // every


def shelve(connection: sa.Connection, some: Iterable[int]) -> None:
    """Put the newest points of series beside their others."""
    numbers = sorted(some)
    for first in range(0, len(numbers), CHUNK):
        mine = newest.c.series.in_(numbers[first : first + CHUNK])
        rows = sa.select(newest).where(mine)  # the columns are those of the points
        connection.execute(sa.insert(points).from_select(newest.c.keys(), rows))
        connection.execute(sa.delete(newest).where(mine))
