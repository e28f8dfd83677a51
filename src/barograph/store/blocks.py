"""The newest values of a series as one block of bytes: a start reads these, not every point.

Where a series has grown by so many points its block is written anew, in the same transaction, so
it never says what the points do not; those behind it are read beside it. Series take turns, so
that no commit writes the blocks of all.
"""

from collections.abc import Iterable

import sqlalchemy as sa

from barograph.store.rows import Insertion, Row
from barograph.store.schema import blocks
from barograph.store.shelf import has_turn
from barograph.store.tail import Recent

EVERY = 64  # points of a series between two blocks
WHAT = ("order", "run", "count", "start", "values")
BLOCK = Insertion(blocks, ("series", *WHAT), replace=WHAT)


def is_due(series: int, before: int, after: int) -> bool:
    """Whether a series that had `before` points and has `after` needs another block."""
    return after >= EVERY and has_turn(series, before, after, EVERY)


def write_blocks(connection: sa.Connection, some: Iterable[tuple[int, Recent]]) -> None:
    """Keep the newest values of series: those that the memory holds."""
    BLOCK.into(connection, [_row(series, recent) for series, recent in some])


def _row(series: int, recent: Recent) -> Row:
    values = recent.values.astype("<f8").tobytes()
    return (series, *recent.last, recent.count, recent.start, values)
