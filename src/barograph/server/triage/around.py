"""The results around candidates: one query reads them for plots, siblings and suspects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from barograph.server.store.candidate_records import candidates_numbered
from barograph.server.store.database import chunks
from barograph.server.store.schema import candidates, points
from barograph.server.triage.effects import Effect

BEFORE, AFTER = 44, 20  # results on each side of a trace


class EdgeResult(NamedTuple):
    """A result beside a change."""

    order: int
    commit: str
    time: int | None
    value: float


class Around(NamedTuple):
    """The results before and after a change, oldest first."""

    before: list[EdgeResult]
    after: list[EdgeResult]

    @property
    def values(self) -> tuple[float, ...]:
        """The values on both sides."""
        return tuple(result.value for side in self for result in side)


class Trace(NamedTuple):
    """The results around a candidate, for a small plot.

    Attributes:
        values: The results, oldest first.
        split: The index of the first result of the new level.
        levels: The levels; None if they are unknown.
    """

    values: tuple[float, ...]
    split: int
    levels: Effect | None = None


def _edge(count: str, *, is_before: bool) -> sa.ScalarSelect[int]:
    """Return the order that lies some results before or after a candidate; null without it."""
    c, p = candidates.c, points.alias().c
    orders = sa.select(p.order).where(p.series == c.series, p.settled.is_not(None))
    orders = orders.where(p.order < c.order) if is_before else orders.where(p.order >= c.order)
    ordered = orders.order_by(p.order.desc() if is_before else p.order)
    offset: sa.BindParameter[int] = sa.bindparam(count, type_=sa.Integer)
    return ordered.limit(1).offset(offset - 1).correlate(candidates).scalar_subquery()


_C, _P = candidates.c, points.c
# Making the query takes as long as running it.
_QUERY = (
    sa.select(_C.id, _P.order < _C.order, _P.order, _P.commit, _P.time, _P.settled)
    .join(points, sa.and_(_P.series == _C.series, _P.settled.is_not(None)))
    .where(
        _C.id.in_(sa.bindparam("numbers", expanding=True)),
        _P.order >= sa.func.coalesce(_edge("before", is_before=True), -(2**62)),
        _P.order <= sa.func.coalesce(_edge("after", is_before=False), 2**62),
    )
    .order_by(_C.id, _P.order)
)


def around(
    connection: sa.Connection, numbers: Sequence[int], before: int, after: int
) -> dict[int, Around]:
    """Return the results around candidates, by their numbers.

    The points of a series are stored in its order, so this reads a few neighbouring rows for each
    candidate.

    Args:
        connection: From `Store.read`.
        numbers: The numbers of the candidates.
        before: The maximum number of results before each; at least 1.
        after: The maximum number of results from each on; at least 1.
    """
    found: defaultdict[int, Around] = defaultdict(lambda: Around([], []))
    for part in chunks(numbers):
        options = {"numbers": part, "before": before, "after": after}
        for number, is_before, *result in connection.execute(_QUERY, options):
            found[number][0 if is_before else 1].append(EdgeResult(*result))
    return found


def levels(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, Effect]:
    """Return the levels around candidates, as far as they are known."""
    records = candidates_numbered(connection, numbers)
    return {record.id: effect for record in records if (effect := Effect.of(record))}


def traces(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, Trace]:
    """Return the results around candidates for plots; a candidate without results is left out."""
    known = levels(connection, numbers)
    return {
        number: Trace(found.values, len(found.before), known.get(number))
        for number, found in around(connection, numbers, BEFORE, AFTER).items()
    }
