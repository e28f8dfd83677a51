"""Read the history of series: the recent values of many, or the whole of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from barograph.series import Floats
from barograph.triage.places import questions
from barograph.triage.recent import NOWHERE, Key, Recent
from barograph.triage.schema import decisions, points

CHUNK = 500  # series in one question
ALONE = 8  # up to this many, each series is asked for by itself and only as far as needed


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
        drop = max(0, self.values.size - history)
        return Recent(
            self.values[drop:].copy(), max(0, start - drop), self.keys[-1], self.values.size
        )


def load_whole(connection: sa.Connection, series: int, since: Key) -> Whole:
    """Read one series, and the change points that were found before the place `since`."""
    p, d = points.c, decisions.c
    rows = connection.execute(
        sa.select(p.order, p.run, p.value).where(p.series == series).order_by(p.order, p.run)
    ).all()
    keys: list[Key] = [(order, run) for order, run, _ in rows]
    # A change point may be older than a point that came late between it and `since`.
    found = connection.execute(
        sa.select(d.order, d.run)
        .where(d.series == series, d.is_change, sa.tuple_(d.order, d.run) < sa.tuple_(*since))
        .order_by(d.order.desc(), d.run.desc())
        .limit(1)
    ).first()
    start = 0 if found is None else keys.index((found[0], found[1]))
    return Whole(keys, np.array([row[2] for row in rows]), keys.index(since), start)


def load_recent(
    connection: sa.Connection, wanted: Sequence[int], history: int
) -> dict[int, Recent]:
    """Read the newest values of series, and where the last change point among them lies."""
    if len(wanted) <= ALONE:
        return {series: _one(connection, series, history) for series in wanted}
    found: dict[int, Recent] = {}
    for first in range(0, len(wanted), CHUNK):
        found.update(_some(connection, wanted[first : first + CHUNK], history))
    return found


def _one(connection: sa.Connection, series: int, history: int) -> Recent:
    p = points.c
    mine = p.series == series
    rows = connection.execute(
        sa.select(p.order, p.run, p.value)
        .where(mine)
        .order_by(p.order.desc(), p.run.desc())
        .limit(history)
    ).all()
    if not rows:
        return Recent(np.empty(0), 0, NOWHERE, 0)
    count = len(rows)
    if count == history:
        count = connection.execute(sa.select(sa.func.count()).where(mine)).scalar_one()
    values = np.array([row[2] for row in reversed(rows)])
    last: Key = (rows[0][0], rows[0][1])
    return Recent(values, _start(connection, series, last, values.size), last, count)


def _start(connection: sa.Connection, series: int, last: Key, held: int) -> int:
    """Where the last change point lies: the newest decision knows how long its Pre was."""
    d = decisions.c
    is_change, pre = connection.execute(
        sa.select(d.is_change, d.pre).where(
            d.series == series, d.order == last[0], d.run == last[1]
        )
    ).one()
    return _place(held, is_change=is_change, pre=pre)


def _place(held: int, *, is_change: bool, pre: int) -> int:
    return held - 1 if is_change else max(0, held - 1 - pre)


def _some(connection: sa.Connection, some: Sequence[int], history: int) -> dict[int, Recent]:
    """Read the values of many series as one column, and the newest decision of each."""
    p = points.c
    mine = p.series.in_(some)
    ends = sa.select(p.series, sa.func.count(), sa.func.max(p.order)).where(mine)
    counts: dict[int, tuple[int, int]] = {
        number: (count, last) for number, count, last in connection.execute(ends.group_by(p.series))
    }
    ordered = sa.select(p.value).where(mine).order_by(p.series, p.order, p.run)
    values = np.array(connection.scalars(ordered).all(), dtype=np.float64)
    newest = _newest(connection, {number: last for number, (_, last) in counts.items()})
    found = {series: Recent(np.empty(0), 0, NOWHERE, 0) for series in some}
    high = 0
    for series in sorted(counts):
        count = counts[series][0]
        high += count
        recent = values[max(high - count, high - history) : high].copy()
        row = newest[series]
        start = _place(recent.size, is_change=row.is_change, pre=row.pre)
        found[series] = Recent(recent, start, (row.order, row.run), count)
    return found


def _newest(connection: sa.Connection, last: dict[int, int]) -> dict[int, Any]:
    """Return the decision at the last order of each series, and there at the last run."""
    d = decisions.c
    query = sa.select(d.series, d.order, d.run, d.is_change, d.pre).order_by(d.series, d.run)
    found: dict[int, Any] = {}
    for numbers, orders in questions(last.items()):
        rows = connection.execute(query.where(d.series.in_(numbers), d.order.in_(orders)))
        found.update((row.series, row) for row in rows)
    return found
