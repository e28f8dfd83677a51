"""The newest values of each series: what the next decision is made from.

A commit counts with one value, however many runs it has: the settled one. The values are kept in
memory. After a start they are read from the database: the table `blocks` holds the newest values of
a series as bytes, so that a start reads those and the few points after them instead of every point.
The block of a series is rewritten in the transaction of every 64th commit; the series take turns,
so that no transaction writes the blocks of all of them.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from barograph.detection.online import AlarmState
from barograph.detection.online.views import kept_from
from barograph.series import Floats
from barograph.store.database import Insertion, rows_in
from barograph.store.measurement import CHANGE
from barograph.store.schema import blocks, points, steps

NOWHERE = -(2**63)  # before every order
SLACK = 1.1  # how far a buffer grows beyond what is needed now
CHUNK = 500  # series in one query
BLOCK_EVERY = 64  # points of a series between two blocks
_BLOCK = ("order", "count", "start", "values")
BLOCK = Insertion(blocks, ("series", *_BLOCK), replace=_BLOCK)


class StoredRun(NamedTuple):
    """One stored result of a series."""

    order: int
    run: str
    value: float


def needed(count: int, history: int) -> int:
    """Return how many of the newest values the next decision on a series of `count` reads."""
    return count - kept_from(count, history)


class SeriesTail:
    """The newest values of one series, and the position of its last change point.

    Args:
        values: One for each commit, oldest first.
        start: Index of the last change point among the values, 0 if it is before them.
        last: Order of the newest commit.
        count: Number of commits of the whole series.

    Attributes:
        size: Number of values that are kept.
        room: Number of values that the buffer can hold.
        counted: The room that the cache has counted.
        state: State of the second look; its positions count all commits of the series.
    """

    __slots__ = ("_buffer", "count", "counted", "last", "room", "size", "start", "state")

    def __init__(
        self, values: Floats | None = None, start: int = 0, last: int = NOWHERE, count: int = 0
    ) -> None:
        self._buffer = np.empty(0) if values is None else values
        self.size = self.room = self._buffer.size
        self.counted = 0
        self.start = start
        self.last = last
        self.count = count
        self.state: AlarmState | None = None

    @property
    def values(self) -> Floats:
        """The values, oldest first: a view that the next `extended` may invalidate."""
        return self._buffer[: self.size]

    def extended(self, values: list[float]) -> Floats:
        """Return the values with new ones appended; they are kept only once `accept` is called."""
        size = self.size + len(values)
        if size > self.room:
            grown = np.empty(int(size * SLACK) + 4)
            grown[: self.size] = self.values
            self._buffer, self.room = grown, grown.size
        self._buffer[self.size : size] = values
        return self._buffer[:size]

    def accept(self, added: int, start: int, last: int, history: int) -> None:
        """Keep the values of the last `extended`, and drop those that no decision reads again."""
        self.size += added
        self.start, self.last, self.count = start, last, self.count + added
        drop = self.size - needed(self.count, history)
        if drop > 0:
            self._buffer = self._buffer[drop : self.size].copy()
            self.size = self.room = self._buffer.size
            self.start = max(0, self.start - drop)


class TailCache:
    """Tails by series number; the least recently used are evicted first.

    Args:
        room: Number of values to hold in all, eight bytes each.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self._tails: OrderedDict[int, SeriesTail] = OrderedDict()
        self._used = 0

    def __len__(self) -> int:
        return len(self._tails)

    @property
    def used(self) -> int:
        """Number of values held."""
        return self._used

    @property
    def is_full(self) -> bool:
        """Whether another series of average length would not fit."""
        return self._used * (len(self._tails) + 1) > self.room * len(self._tails) > 0

    def __contains__(self, series: int) -> bool:
        return series in self._tails

    def __getitem__(self, series: int) -> SeriesTail:
        return self._tails[series]

    def use(self, series: int) -> bool:
        """Mark a series as recently used; return whether it is cached."""
        cached = series in self._tails
        if cached:
            self._tails.move_to_end(series)
        return cached

    def put(self, series: int, tail: SeriesTail) -> None:
        """Add or replace the tail of a series."""
        self.drop(series)
        self._tails[series] = tail
        self.recount(tail)

    def recount(self, tail: SeriesTail) -> None:
        """Count the room of a cached tail again."""
        self._used += tail.room - tail.counted
        tail.counted = tail.room

    def drop(self, series: int) -> None:
        """Evict the tail of a series."""
        tail = self._tails.pop(series, None)
        if tail is not None:
            self._used -= tail.counted

    def trim(self) -> None:
        """Evict the least recently used tails until the rest fits."""
        while self._used > self.room and self._tails:
            _, tail = self._tails.popitem(last=False)
            self._used -= tail.counted

    def clear(self) -> None:
        """Evict every tail."""
        self._tails.clear()
        self._used = 0


def load_tails(
    connection: sa.Connection, numbers: Sequence[int], history: int
) -> dict[int, SeriesTail]:
    """Read the tails of series; one without points gets an empty tail."""
    tails: dict[int, SeriesTail] = {}
    for first in range(0, len(numbers), CHUNK):
        tails.update(_load_chunk(connection, numbers[first : first + CHUNK], history))
    for series, state in _states(connection, numbers).items():
        tails[series].state = state
    return tails


def rewind(
    connection: sa.Connection, series: int, since: int, history: int, limit: int
) -> tuple[SeriesTail, list[StoredRun], int | None]:
    """Take a series back to just before an order.

    Args:
        connection: Of the writing transaction.
        series: Number of the series.
        since: The order.
        history: Number of values that a decision reads.
        limit: Maximum number of runs, except that the first commit is always complete.

    Returns:
        The tail, the runs of whole commits from there on, and the order of the first commit that
        is left.
    """
    p, s = points.c, steps.c
    before = p.series == series, p.order < since, p.settled.is_not(None)
    total = sa.select(sa.func.count()).where(*before).scalar_subquery().label("total")
    settled = sa.select(p.order, p.settled, p.answer, p.baseline_size, total).where(*before)
    newest = connection.execute(settled.order_by(p.order.desc()).limit(history))
    rows = list(reversed(newest.all()))
    tail = SeriesTail()
    if rows:
        tail = _appended(SeriesTail(count=rows[0].total - len(rows)), rows, history)
    connection.execute(sa.delete(steps).where(s.series == series, s.order >= since))
    tail.state = _states(connection, [series]).get(series)
    query = sa.select(p.order, p.run, p.value).where(p.series == series, p.order >= since)
    ordered = query.order_by(p.order, p.run)
    later = [StoredRun(*row) for row in connection.execute(ordered.limit(limit + 1))]
    if len(later) <= limit:
        return tail, later, None
    left = later[-1].order
    if left == later[0].order:
        return rewind(connection, series, since, history, 2 * limit)
    return tail, [run for run in later if run.order < left], left


def is_block_due(series: int, before: int, after: int) -> bool:
    """Return whether a series needs a new block when it grows from `before` to `after` values."""
    turn = (before + series) // BLOCK_EVERY != (after + series) // BLOCK_EVERY
    return turn and after >= BLOCK_EVERY


def write_blocks(connection: sa.Connection, tails: Iterable[tuple[int, SeriesTail]]) -> None:
    """Write the tails of series as blocks."""
    BLOCK.into(
        connection,
        [
            (series, tail.last, tail.count, tail.start, tail.values.astype("<f8").tobytes())
            for series, tail in tails
        ],
    )


def _load_chunk(
    connection: sa.Connection, numbers: Sequence[int], history: int
) -> dict[int, SeriesTail]:
    tails = {series: SeriesTail() for series in numbers}
    p, b = points.c, blocks.c
    for row in connection.execute(sa.select(blocks).where(b.series.in_(numbers))):
        series, order, count, start, content = row
        values = np.frombuffer(content, dtype="<f8")
        if values.size >= needed(count, history):  # else it was written for a shorter history
            tails[series] = _cut(values, start, order, count, history)
    with_block = [series for series, tail in tails.items() if tail.count]
    without = [series for series, tail in tails.items() if not tail.count]
    after_block = b.series.in_(with_block), b.series == p.series, p.order > b.order
    for where in ((p.series.in_(without),), after_block):
        for series, rows in _settled(connection, *where):
            tails[series] = _appended(tails[series], rows, history)
    return tails


def _settled(
    connection: sa.Connection, *where: sa.ColumnElement[bool]
) -> Iterator[tuple[int, list[Any]]]:
    """Read settled values with their decisions, series by series."""
    p = points.c
    query = sa.select(p.series, p.order, p.settled, p.answer, p.baseline_size)
    settled = query.where(p.settled.is_not(None), *where)
    ordered = connection.execute(settled.order_by(p.series, p.order))
    for series, rows in groupby(ordered, attrgetter("series")):
        yield series, list(rows)


def _appended(tail: SeriesTail, rows: list[Any], history: int) -> SeriesTail:
    """Return a tail with stored values appended; the decision on the last says where Pre starts."""
    values = np.concatenate((tail.values, [row.settled for row in rows]))
    last, newest = rows[-1], values.size - 1
    start = newest if last.answer == CHANGE else max(0, newest - last.baseline_size)
    return _cut(values, start, last.order, tail.count + len(rows), history)


def _cut(values: Floats, start: int, last: int, count: int, history: int) -> SeriesTail:
    """Return a tail that keeps only what the next decision reads."""
    drop = values.size - needed(count, history)
    return SeriesTail(values[drop:].copy(), max(0, start - drop), last, count)


def _states(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, AlarmState]:
    """Return the state of the second look after the last step of each series."""
    s = steps.c
    columns = (s.series, s.standing, s.score, s.confirmed, s.direction, s.probability)
    query = sa.select(*columns).order_by(s.series, s.order)
    rows = rows_in(connection, query, s.series, numbers)
    return {series: AlarmState(*fields) for series, *fields in rows}


def orders_before(connection: sa.Connection, series: int, order: int, count: int) -> list[int]:
    """Return the orders of the last commits of a series before an order, the newest first."""
    p = points.c
    before = p.series == series, p.order < order, p.settled.is_not(None)
    newest_first = sa.select(p.order).where(*before).order_by(p.order.desc())
    return list(connection.scalars(newest_first.limit(count)))
