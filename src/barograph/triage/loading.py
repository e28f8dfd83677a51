"""Read the history of series: the recent values of many, or the whole of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa

from barograph.series import Floats
from barograph.triage.places import questions
from barograph.triage.recent import NOWHERE, Key, Recent, needed
from barograph.triage.schema import blocks, points

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
    """The end of a series."""

    values: Floats
    last: int  # order of the newest point
    total: int  # of all its points
    # Run of the newest point and place of the last change point, where nothing newer may tell.
    kept: tuple[str, int] | None = None


def load_whole(connection: sa.Connection, series: int, since: Key) -> Whole:
    """Read one series, and the change points that were found before the place `since`."""
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
    """Read what is kept as blocks, the points behind these, and all points of the others."""
    tails = _tails(connection, some, history)
    tails |= _from_points(connection, [one for one in some if one not in tails], history)
    asked = {series: tail.last for series, tail in tails.items() if tail.kept is None}
    newest = _newest(connection, asked)
    found = {series: Recent(np.empty(0), 0, NOWHERE, 0) for series in some}
    for series, (values, last, count, kept) in tails.items():
        run, start = kept or (newest[series].run, _place(values.size, newest[series]))
        found[series] = Recent(values, start, (last, run), count)
    return found


def _tails(connection: sa.Connection, some: Sequence[int], history: int) -> dict[int, _Tail]:
    """Read the blocks of series and the points behind them."""
    b, p = blocks.c, points.c
    found: dict[int, _Tail] = {}
    for row in connection.execute(sa.select(blocks).where(b.series.in_(some))):
        series, order, run, count, start, held = row
        values = np.frombuffer(held, dtype="<f8")
        drop = values.size - needed(count, history)
        if drop >= 0:
            kept = (run, max(0, start - drop))
            found[series] = _Tail(values[drop:].copy(), order, count, kept)
    behind = (
        sa.select(p.series, p.order, p.value)
        .select_from(blocks.join(points, p.series == b.series))
        .where(b.series.in_(list(found)), sa.tuple_(p.order, p.run) > sa.tuple_(b.order, b.run))
        .order_by(b.series, p.order, p.run)
    )
    newer: dict[int, list[float]] = {}
    last: dict[int, int] = {}
    for series, order, value in connection.execute(behind):
        newer.setdefault(series, []).append(value)
        last[series] = order
    for series, more in newer.items():
        tail = found[series]
        every, count = np.concatenate((tail.values, more)), tail.total + len(more)
        drop = every.size - needed(count, history)
        found[series] = _Tail(every[drop:].copy(), last[series], count)
    return found


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
    found: dict[int, _Tail] = {}
    high = 0
    for series in sorted(counts):
        count, last = counts[series]
        high += count
        recent = values[high - needed(count, history) : high].copy()
        found[series] = _Tail(recent, last, count)
    return found


def _newest(connection: sa.Connection, last: dict[int, int]) -> dict[int, Any]:
    """Return the decision at the last order of each series, and there at the last run."""
    p = points.c
    query = sa.select(p.series, p.run, p.is_change, p.pre).order_by(p.series, p.run)
    found: dict[int, Any] = {}
    for numbers, orders in questions(last.items()):
        rows = connection.execute(query.where(p.series.in_(numbers), p.order.in_(orders)))
        found.update((row.series, row) for row in rows)
    return found


def _place(held: int, decision: Any) -> int:
    """Where the last change point lies: the newest decision knows how long its Pre was."""
    return held - 1 if decision.is_change else max(0, held - 1 - decision.pre)
