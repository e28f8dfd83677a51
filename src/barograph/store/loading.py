"""Read the history of series: the recent values of many, or the whole of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from barograph.series import Floats
from barograph.store.lookups import questions
from barograph.store.schema import blocks, newest, points
from barograph.store.tail import NOWHERE, Key, Recent, needed

CHUNK = 500  # series in one question


@dataclass(frozen=True)
class Whole:
    """One series from its first point on, to be judged again from `first`.

    Attributes:
        keys: the places of the points.
        values: their values.
        first: the first one to be judged again.
        start: the last change point before it, 0 where there is none.
    """

    keys: list[Key]
    values: Floats
    first: int
    start: int

    def recent(self, start: int, history: int) -> Recent:
        """Return its newest values, given where its last change point lies now."""
        count = self.values.size
        drop = count - needed(count, history)
        return Recent(self.values[drop:].copy(), max(0, start - drop), self.keys[-1], count)


class _Tail(NamedTuple):
    """The end of a series: its values, the last key, how many points in all, the last change."""

    values: Floats
    last: Key
    total: int
    start: int

    def grown(self, values: Floats | list[float], last: Any, history: int) -> "_Tail":
        """Put values behind it, the last of which is that of a row with its decision."""
        every, total = np.concatenate((self.values, values)), self.total + len(values)
        start = every.size - 1 if last.is_change else max(0, every.size - 1 - last.baseline_size)
        return _Tail(every, (last.order, last.run), total, start).cut(history)

    def cut(self, history: int) -> "_Tail":
        """Keep what the next decision reads."""
        drop = self.values.size - needed(self.total, history)
        return self._replace(values=self.values[drop:].copy(), start=max(0, self.start - drop))


EMPTY = _Tail(np.empty(0), NOWHERE, 0, 0)


def load_whole(connection: sa.Connection, series: int, since: Key) -> Whole:
    """Read one series, none of it among the newest, and its change points before `since`."""
    p = points.c
    rows = connection.execute(
        sa.select(p.order, p.run, p.value, p.is_change)
        .where(p.series == series)
        .order_by(p.order, p.run)
    ).all()
    keys: list[Key] = [(order, run) for order, run, *_ in rows]
    first = keys.index(since)
    start = max((k for k, row in enumerate(rows[:first]) if row.is_change), default=0)
    return Whole(keys, np.array([row.value for row in rows]), first, start)


def load_recent(
    connection: sa.Connection, wanted: Sequence[int], history: int
) -> dict[int, Recent]:
    """Read the newest values of series, and where the last change point among them lies."""
    found: dict[int, Recent] = {}
    for first in range(0, len(wanted), CHUNK):
        found.update(_some(connection, wanted[first : first + CHUNK], history))
    return found


def _some(connection: sa.Connection, some: Sequence[int], history: int) -> dict[int, Recent]:
    """Read what is kept as blocks, all points of the others, and the points behind both."""
    tails = _from_blocks(connection, some, history)
    with_block = list(tails)
    tails |= _from_points(connection, [one for one in some if one not in tails], history)
    behind = connection.execute(_behind(some, with_block))
    for series, rows in groupby(behind, attrgetter("series")):
        tail = tails.get(series, EMPTY)
        newer = [row for row in rows if (row.order, row.run) > tail.last]
        if newer:
            tails[series] = tail.grown([row.value for row in newer], newer[-1], history)
    found = {series: Recent(np.empty(0), 0, NOWHERE, 0) for series in some}
    for series, (values, last, count, start) in tails.items():
        found[series] = Recent(values, start, last, count)
    return found


def _from_blocks(connection: sa.Connection, some: Sequence[int], history: int) -> dict[int, _Tail]:
    found: dict[int, _Tail] = {}
    for row in connection.execute(sa.select(blocks).where(blocks.c.series.in_(some))):
        series, order, run, count, start, held = row
        values = np.frombuffer(held, dtype="<f8")
        if values.size >= needed(count, history):
            found[series] = _Tail(values, (order, run), count, start).cut(history)
    return found


def _behind(some: Sequence[int], with_block: list[int]) -> sa.CompoundSelect[Any]:
    """Ask for the points behind blocks, and for the newest of all."""
    p, b = points.c, blocks.c
    behind_block = (
        sa.select(*_decided(points))
        .select_from(blocks.join(points, p.series == b.series))
        .where(b.series.in_(with_block), sa.tuple_(p.order, p.run) > sa.tuple_(b.order, b.run))
    )
    lately = sa.select(*_decided(newest)).where(newest.c.series.in_(some))
    return sa.union_all(behind_block, lately).order_by("series", "order", "run")


def _decided(table: sa.Table) -> tuple[sa.Column[Any], ...]:
    p = table.c
    return p.series, p.order, p.run, p.value, p.is_change, p.baseline_size


def _from_points(connection: sa.Connection, some: Sequence[int], history: int) -> dict[int, _Tail]:
    """Read the values of many series as one column."""
    p = points.c
    mine = p.series.in_(some)
    ends = sa.select(p.series, sa.func.count(), sa.func.max(p.order)).where(mine)
    counts: dict[int, tuple[int, int]] = {
        number: (count, last) for number, count, last in connection.execute(ends.group_by(p.series))
    }
    ordered = sa.select(p.value).where(mine).order_by(p.series, p.order, p.run)
    values = np.array(connection.scalars(ordered).all(), dtype=np.float64)
    decided = _last(connection, {series: last for series, (_, last) in counts.items()})
    found: dict[int, _Tail] = {}
    high = 0
    for series in sorted(counts):
        count, _ = counts[series]
        high += count
        recent = values[high - needed(count, history) : high]
        found[series] = EMPTY._replace(total=count - recent.size).grown(
            recent, decided[series], history
        )
    return found


def _last(connection: sa.Connection, orders: dict[int, int]) -> dict[int, Any]:
    """Return the decision at the last order of each series, and there at the last run."""
    p = points.c
    query = sa.select(*_decided(points)).order_by(p.series, p.run)
    found: dict[int, Any] = {}
    for numbers, some in questions(orders.items()):
        rows = connection.execute(query.where(p.series.in_(numbers), p.order.in_(some)))
        found.update((row.series, row) for row in rows)
    return found
