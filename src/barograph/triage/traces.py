"""The results around candidates, for small plots: one query for all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.store.schema import candidates, points

BEFORE, AFTER = 44, 20  # results on each side of a candidate
CHUNK = 500  # candidates in one query


class Trace(NamedTuple):
    """The results around a candidate.

    Attributes:
        values: The results, oldest first.
        split: The index of the first result of the new level.
        levels: Start, end and mean of the levels before and after, as far as they are known.
    """

    values: tuple[float, ...]
    split: int
    levels: tuple[tuple[int, int, float], ...]


def traces(
    connection: sa.Connection, regions: Sequence[tuple[int, str | None, str | None]]
) -> dict[int, Trace]:
    """Return the results around candidates.

    The points of a series are stored in its order, so this reads a few neighbouring rows for each
    candidate. The blocks of newest values would not do: they have no orders.

    Args:
        connection: From `Store.read`.
        regions: The number of each candidate, and the regions before and after it as JSON.

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
    around = {number: pair for number, *pair in regions}
    numbers, found = list(around), {}
    for first in range(0, len(numbers), CHUNK):
        chosen = c.id.in_(numbers[first : first + CHUNK])
        for number, own in groupby(connection.execute(query.where(chosen)), itemgetter(0)):
            rows = list(own)
            found[number] = _trace(rows, *around[number])
    return found


def _edge(count: int, *, is_before: bool) -> sa.ScalarSelect[int]:
    """Return the order that lies some results before or after a candidate; null without it."""
    c, p = candidates.c, points.alias().c
    own = sa.select(p.order).where(p.series == c.series, p.settled.is_not(None))
    own = own.where(p.order < c.order) if is_before else own.where(p.order >= c.order)
    ordered = own.order_by(p.order.desc() if is_before else p.order)
    return ordered.limit(1).offset(count - 1).correlate(candidates).scalar_subquery()


def _trace(rows: Sequence[Any], *regions: str | None) -> Trace:
    values = tuple(row[1] for row in rows)
    index = sum(bool(row[2]) for row in rows)
    before, after = (None if text is None else json.loads(text) for text in regions)
    levels = []
    if before is not None and index:
        levels.append((max(0, index - before["count"]), index, before["mean"]))
    if after is not None and index < len(values):
        levels.append((index, min(len(values), index + after["count"]), after["mean"]))
    return Trace(values, index, tuple(levels))
