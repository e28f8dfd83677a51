"""Which change point of the latest run is which stored candidate, after moving a few commits.

Daly et al. 2020, 3: when a series grows, its change points are computed again. A candidate that
moved by a few commits keeps its identity, and the move is recorded. A candidate with a verdict
stays where it is. A candidate that is no longer found is kept, and is the same if it comes back.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from barograph.series import UNKNOWN_TIME, ChangePoint, Series, Verdict
from barograph.store.schema import candidates

REACH = 5  # points


class StoredCandidate(NamedTuple):
    """A candidate in the store."""

    id: int
    order: int
    verdict: Verdict
    calculated_on: int
    triaged_on: int


class FoundCandidate(NamedTuple):
    """A change point of the latest run, and the stored candidate it is, if any."""

    change: ChangePoint
    order: int
    known: StoredCandidate | None
    probability: float | None = None


class SeriesPlan(NamedTuple):
    """The changes to the candidates of one series.

    Attributes:
        number: The number of the series in the store.
        series: Its points.
        found: Change points of the latest run without a verdict: new candidates, and known ones.
        judged: Candidates with a verdict, which stay as they are.
        gone: Candidates that are no longer found.
    """

    number: int
    series: Series
    found: list[FoundCandidate]
    judged: list[StoredCandidate]
    gone: list[StoredCandidate]


def stored_candidates(
    connection: sa.Connection, numbers: Sequence[int]
) -> dict[int, list[StoredCandidate]]:
    """Return the candidates of some series, including those that are no longer found."""
    c = candidates.c
    result: dict[int, list[StoredCandidate]] = {number: [] for number in numbers}
    for number, key, order, verdict, *dates in connection.execute(
        sa.select(c.series, c.id, c.order, c.verdict, c.calculated_on, c.triaged_on)
        .where(c.series.in_(numbers))
        .order_by(c.id)
    ):
        calculated, triaged = (UNKNOWN_TIME if date is None else date for date in dates)
        result[number].append(StoredCandidate(key, order, Verdict(verdict), calculated, triaged))
    return result


def identify(
    number: int,
    series: Series,
    known: Sequence[StoredCandidate],
    changes: Sequence[ChangePoint],
) -> SeriesPlan:
    """Match the change points of the latest run with the stored candidates of a series.

    Positions are compared as indices, so gaps between orders do not matter.
    """
    judged = [candidate for candidate in known if candidate.verdict is not Verdict.NOT_TRIAGED]
    untriaged = [candidate for candidate in known if candidate.verdict is Verdict.NOT_TRIAGED]
    # Candidates with a verdict go first: their change points are not new ones.
    indices = [change.index for change in changes]
    taken = match([series.index_of(candidate.order) for candidate in judged], indices)
    rest = [change for k, change in enumerate(changes) if k not in taken]
    pairs = match(
        [series.index_of(candidate.order) for candidate in untriaged],
        [change.index for change in rest],
    )
    found = []
    orders = {candidate.order for candidate in judged}
    for k, change in enumerate(rest):
        order = int(series.orders[change.index])
        if order not in orders:  # otherwise it has a verdict
            stored = untriaged[pairs[k]] if k in pairs else None
            found.append(FoundCandidate(change, order, stored, change.probability))
    kept = {candidate.known.id for candidate in found if candidate.known is not None}
    gone = [candidate for candidate in untriaged if candidate.id not in kept]
    return SeriesPlan(number, series, found, judged, gone)


def match(old: Sequence[int], new: Sequence[int], reach: int = REACH) -> dict[int, int]:
    """Pair the indices of two runs, the nearest first; each is used once.

    Args:
        old: Indices of the earlier run.
        new: Indices of the later run.
        reach: How far a change point may move.

    Returns:
        For each paired entry of `new` its entry of `old`, both by position. Of two entries that
        are equally near, the earlier one is used.
    """
    by_index = sorted(range(len(old)), key=lambda k: (old[k], k))
    indices = [old[k] for k in by_index]
    pairs = [
        (abs(index - old[k]), old[k], index, k, number)
        for number, index in enumerate(new)
        for k in by_index[
            bisect_left(indices, index - reach) : bisect_right(indices, index + reach)
        ]
    ]
    result: dict[int, int] = {}
    taken: set[int] = set()
    for *_, k, number in sorted(pairs):
        if number not in result and k not in taken:
            result[number] = k
            taken.add(k)
    return result
