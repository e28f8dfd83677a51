"""The results around changes, for plots, siblings and suspects, and how far levels moved."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

import sqlalchemy as sa

from barograph.results.series import Direction
from barograph.results.sizes import NEAR, Size
from barograph.results.wording import CHANGED, EffectWord
from barograph.server.store.candidate_records import CandidateRecord, candidates_numbered
from barograph.server.store.database import rows_in
from barograph.server.store.schema import candidates, points

BEFORE, AFTER = 44, 20  # results on each side of a trace
SIDE = 12  # results on each side that count
LEAST = 3  # results before, below which a series has no level
CLEAR = 4.0  # standard errors of the difference of two levels
FLOOR = 0.002  # of the level: no series is taken to have less noise
TO_SD = 1.2533  # from a mean absolute deviation

SettledResults = Sequence[tuple[int, float]]  # order and settled value, ascending by order


@dataclass(frozen=True, slots=True)
class Effect:
    """How far one series moved between two commits.

    Attributes:
        before: The median of the last results up to the first commit; None without enough.
        after: The median of the first results from the second commit on; None without any.
        count_before: The number of results that `before` is made of.
        count_after: The number of results that `after` is made of.
        is_clear: Whether the levels differ by far more than the noise around them.
        is_trend: Whether the results contradict each other about the sign; only known of a
            candidate.
    """

    before: float | None
    after: float | None
    count_before: int
    count_after: int
    is_clear: bool
    is_trend: bool = False

    @property
    def size(self) -> Size | None:
        """The size of the move, if both levels are known."""
        if self.before is None or self.after is None:
            return None
        return Size(self.before, self.after, self.is_trend)

    @property
    def percent(self) -> float | None:
        """The change in percent of the level before, if both levels are known and it is finite."""
        size = self.size
        return size.percent if size is not None and math.isfinite(size.percent) else None

    def word(self, direction: Direction) -> EffectWord:
        """Return whether the series got worse or better; `changed` if it did not move."""
        return CHANGED if self.size is None else self.size.effect(direction)

    @classmethod
    def of(cls, change: CandidateRecord) -> Effect | None:
        """Return how far a series moved at a candidate; None if that is unknown."""
        size, old, new = change.size, change.before, change.after
        if size is None or old is None or new is None:
            return None
        counts = min(old.count, NEAR), min(new.count, NEAR)
        return cls(size.before, size.after, *counts, is_clear=True, is_trend=size.is_trend)


def effect_between(results: SettledResults, last_before: int, first_after: int) -> Effect:
    """Return how far a series moved between two orders.

    Results strictly between the orders belong to neither level.

    Args:
        results: Orders and values, ascending by order.
        last_before: The last order of the old level.
        first_after: The first order of the new level.

    Example:
        >>> results = [(order, 10.0 + order % 2 + 5.0 * (order >= 8)) for order in range(16)]
        >>> effect_between(results, 7, 8).size
        Size(before=10.5, after=15.5, is_trend=False)
    """
    old = [value for order, value in results if order <= last_before][-SIDE:]
    new = [value for order, value in results if order >= first_after][:SIDE]
    if len(old) < LEAST:
        old = []
    before, after = (median(side) if side else None for side in (old, new))
    is_clear = before is not None and after is not None and _is_clear(old, new, before, after)
    return Effect(before, after, len(old), len(new), is_clear)


def _is_clear(old: list[float], new: list[float], before: float, after: float) -> bool:
    around = [abs(value - before) for value in old] + [abs(value - after) for value in new]
    noise = max(TO_SD * fmean(around), FLOOR * max(abs(before), abs(after)))
    if not noise:
        return before != after
    error = noise * math.sqrt(1.0 / len(old) + 1.0 / len(new))
    return abs(after - before) >= CLEAR * error


def results_between(
    connection: sa.Connection, numbers: Iterable[int], first: int, last: int
) -> Mapping[int, SettledResults]:
    """Return the results of some series between two orders, in one query for 500 series.

    Args:
        connection: From `Store.read`.
        numbers: Numbers of the series.
        first: The lowest order.
        last: The highest order.

    Returns:
        The results by series; a series without any is left out.
    """
    p = points.c
    query = sa.select(p.series, p.order, p.settled).order_by(p.series, p.order)
    query = query.where(p.order.between(first, last), p.settled.is_not(None))
    results: dict[int, list[tuple[int, float]]] = {}
    for number, order, value in rows_in(connection, query, p.series, list(numbers)):
        results.setdefault(number, []).append((order, value))
    return results


class EdgeResult(NamedTuple):
    """A result beside a change."""

    order: int
    commit: str
    time: int | None
    value: float


class Trace(NamedTuple):
    """The results around a candidate, oldest first.

    Attributes:
        before: The results before the change.
        after: The results from the change on.
        levels: The levels; None if they are unknown.
    """

    before: list[EdgeResult]
    after: list[EdgeResult]
    levels: Effect | None = None

    @property
    def values(self) -> tuple[float, ...]:
        """The values on both sides."""
        return tuple(result.value for result in (*self.before, *self.after))


def _edge(count: int, *, is_before: bool) -> sa.ScalarSelect[int]:
    """Return the order that lies some results before or after a candidate; null without it."""
    c, p = candidates.c, points.alias().c
    orders = sa.select(p.order).where(p.series == c.series, p.settled.is_not(None))
    orders = orders.where(p.order < c.order) if is_before else orders.where(p.order >= c.order)
    ordered = orders.order_by(p.order.desc() if is_before else p.order)
    return ordered.limit(1).offset(count - 1).correlate(candidates).scalar_subquery()


def around(
    connection: sa.Connection, numbers: Sequence[int], before: int, after: int
) -> dict[int, Trace]:
    """Return the results around candidates, by their numbers.

    The points of a series are stored in its order, so this reads a few neighbouring rows for each
    candidate.

    Args:
        connection: From `Store.read`.
        numbers: The numbers of the candidates.
        before: The maximum number of results before each; at least 1.
        after: The maximum number of results from each on; at least 1.
    """
    c, p = candidates.c, points.c
    query = (
        sa.select(c.id, p.order < c.order, p.order, p.commit, p.time, p.settled)
        .join(points, sa.and_(p.series == c.series, p.settled.is_not(None)))
        .where(p.order >= sa.func.coalesce(_edge(before, is_before=True), -(2**62)))
        .where(p.order <= sa.func.coalesce(_edge(after, is_before=False), 2**62))
        .order_by(c.id, p.order)
    )
    found: defaultdict[int, Trace] = defaultdict(lambda: Trace([], []))
    for number, is_before, *result in rows_in(connection, query, c.id, numbers):
        trace = found[number]
        (trace.before if is_before else trace.after).append(EdgeResult(*result))
    return found


def levels(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, Effect]:
    """Return the levels around candidates, as far as they are known."""
    records = candidates_numbered(connection, numbers)
    return {record.id: effect for record in records if (effect := Effect.of(record))}


def traces(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, Trace]:
    """Return the results around candidates for plots; a candidate without results is left out."""
    known, found = levels(connection, numbers), around(connection, numbers, BEFORE, AFTER)
    return {number: trace._replace(levels=known.get(number)) for number, trace in found.items()}
