"""The results around candidates, for small plots: one query for all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from barograph.server.store.candidate_records import candidates_numbered
from barograph.server.store.database import chunks
from barograph.server.store.schema import candidates, points
from barograph.server.triage.effects import Effect

BEFORE, AFTER = 44, 20  # results on each side of a candidate


def _edge(count: int, *, is_before: bool) -> sa.ScalarSelect[int]:
    """Return the order that lies some results before or after a candidate; null without it."""
    c, p = candidates.c, points.alias().c
    orders = sa.select(p.order).where(p.series == c.series, p.settled.is_not(None))
    orders = orders.where(p.order < c.order) if is_before else orders.where(p.order >= c.order)
    ordered = orders.order_by(p.order.desc() if is_before else p.order)
    return ordered.limit(1).offset(count - 1).correlate(candidates).scalar_subquery()


def _around() -> sa.Select[Any]:
    """Return the query for the results around candidates."""
    c, p = candidates.c, points.c
    return (
        sa.select(c.id, p.settled, p.order < c.order)
        .join(points, sa.and_(p.series == c.series, p.settled.is_not(None)))
        .where(
            c.id.in_(sa.bindparam("numbers", expanding=True)),
            p.order >= sa.func.coalesce(_edge(BEFORE, is_before=True), -(2**62)),
            p.order <= sa.func.coalesce(_edge(AFTER, is_before=False), 2**62),
        )
        .order_by(c.id, p.order)
    )


AROUND = _around()  # making it takes as long as running it


class Trace(NamedTuple):
    """The results around a candidate.

    Attributes:
        values: The results, oldest first.
        split: The index of the first result of the new level.
        levels: The levels; None if they are unknown.
    """

    values: tuple[float, ...]
    split: int
    levels: Effect | None = None


def levels(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, Effect]:
    """Return the levels around candidates, as far as they are known."""
    records = candidates_numbered(connection, numbers)
    return {record.id: effect for record in records if (effect := Effect.of(record))}


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
    values: defaultdict[int, list[float]] = defaultdict(list)
    splits: Counter[int] = Counter()
    for part in chunks(numbers):
        for number, value, is_before in connection.execute(AROUND, {"numbers": part}).all():
            values[number].append(value)
            splits[number] += is_before
    known = levels(connection, numbers)
    return {
        number: Trace(tuple(results), splits[number], known.get(number))
        for number, results in values.items()
    }
