"""The results around candidates, for small plots: one query for all of them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import sqlalchemy as sa

from barograph.store.schema import candidates, points
from barograph.wording import percent

BEFORE, AFTER = 44, 20  # results on each side of a candidate
CHUNK = 500  # candidates in one query


class Levels(NamedTuple):
    """The levels around a candidate: their means, and the numbers of their results."""

    before: float
    after: float
    count_before: int
    count_after: int

    @property
    def percent(self) -> float | None:
        """The change in percent; None if it is not finite, as from 0."""
        change = percent(self.before, self.after)
        return change if math.isfinite(change) else None


class Trace(NamedTuple):
    """The results around a candidate.

    Attributes:
        values: The results, oldest first.
        split: The index of the first result of the new level.
        levels: The levels; None if they are unknown.
    """

    values: tuple[float, ...]
    split: int
    levels: Levels | None = None


def levels(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, Levels]:
    """Return the levels around candidates, as far as they are known."""
    c, found = candidates.c, {}
    query = sa.select(c.id, c.before, c.after).where(c.before.is_not(None), c.after.is_not(None))
    for first in range(0, len(numbers), CHUNK):
        chosen = c.id.in_(numbers[first : first + CHUNK])
        for number, *regions in connection.execute(query.where(chosen)):
            old, new = map(json.loads, regions)
            found[number] = Levels(old["mean"], new["mean"], old["count"], new["count"])
    return found


def traces(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, Trace]:
    """Return the results around candidates.

    The points of a series are stored in its order, so this reads a few neighbouring rows for each
    candidate. The blocks of newest values would not do: they have no orders.

    Args:
        connection: From `Store.read`.
        numbers: The numbers of the candidates.

    Returns:
        The traces by candidate; one without results is left out.
    """
    c, p = candidates.c, points.c
    query = (
        sa.select(c.id, p.settled, p.order < c.order)
        .join(points, sa.and_(p.series == c.series, p.settled.is_not(None)))
        .where(
            p.order >= sa.func.coalesce(_edge(BEFORE, is_before=True), -(2**62)),
            p.order <= sa.func.coalesce(_edge(AFTER, is_before=False), 2**62),
        )
        .order_by(c.id, p.order)
    )
    known, found = levels(connection, numbers), {}
    for first in range(0, len(numbers), CHUNK):
        chosen = c.id.in_(numbers[first : first + CHUNK])
        around = connection.execute(query.where(chosen)).all()
        for number, own in groupby(around, itemgetter(0)):
            rows = list(own)
            split = sum(bool(row[2]) for row in rows)
            found[number] = Trace(tuple(row[1] for row in rows), split, known.get(number))
    return found


def _edge(count: int, *, is_before: bool) -> sa.ScalarSelect[int]:
    """Return the order that lies some results before or after a candidate; null without it."""
    c, p = candidates.c, points.alias().c
    own = sa.select(p.order).where(p.series == c.series, p.settled.is_not(None))
    own = own.where(p.order < c.order) if is_before else own.where(p.order >= c.order)
    ordered = own.order_by(p.order.desc() if is_before else p.order)
    return ordered.limit(1).offset(count - 1).correlate(candidates).scalar_subquery()
