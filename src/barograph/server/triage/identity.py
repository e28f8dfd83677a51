"""Which change point of the latest run is which stored candidate.

Daly et al. 2020, 3 and 3.2: when results arrive, the change points of their series are computed
again. A candidate follows its change point to another commit, with its verdict, and each move is
recorded. A candidate that is no longer found is kept, and is the same if it comes back.

Places are compared by the results that the series had when the candidate was last found: however
many commits in between are measured later, a change between the same two results is in the same
place. Farther away, a change is the same if it has the same levels before and after.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from barograph.results.series import ChangePoint, Series
from barograph.server.store.candidate_records import CandidateRecord
from barograph.server.store.schema import NEARBY

REACH = NEARBY - 1  # results that a change point may move, of those that the series had


class FoundCandidate(NamedTuple):
    """A change point of the latest run.

    Attributes:
        series: The points of its series.
        number: The number of the series in the store.
        change: The change point.
        known: The stored candidate that it is; None for a new one.
    """

    series: Series
    number: int
    change: ChangePoint
    known: CandidateRecord | None

    @property
    def order(self) -> int:
        """The order of the first result of the new level."""
        return int(self.series.orders[self.change.index])


def identify(
    number: int,
    series: Series,
    known: Sequence[CandidateRecord],
    changes: Sequence[ChangePoint],
) -> tuple[list[FoundCandidate], list[CandidateRecord]]:
    """Match the change points of the latest run with the stored candidates of a series.

    Returns:
        The change points, and the candidates that the run before found and the latest did not.
    """
    pairs = match(series, known, changes)
    found = [
        FoundCandidate(series, number, change, known[pairs[k]] if k in pairs else None)
        for k, change in enumerate(changes)
    ]
    kept = {known[k].id for k in pairs.values()}
    return found, [stored for stored in known if stored.present and stored.id not in kept]


def match(
    series: Series, known: Sequence[CandidateRecord], changes: Sequence[ChangePoint]
) -> dict[int, int]:
    """Pair the change points of a run with the stored candidates of their series.

    Each is used at most once. Candidates with a verdict go first, so that no change is judged
    twice; then those at the same order, those that the run before found, and the nearest.

    Args:
        series: The points.
        known: The stored candidates.
        changes: The change points, by ascending index.

    Returns:
        For each paired entry of `changes` its entry of `known`, both by position.
    """
    orders = [int(series.orders[change.index]) for change in changes]
    pairs = []
    for k, stored in enumerate(known):
        before, after = results_around(series, stored)
        first = bisect_left(orders, min((*before, stored.order)))
        last = bisect_right(orders, max((*after, stored.order)))
        for row in range(first, last):
            steps = distance(stored.order, orders[row], before, after)
            if _is_same(stored, orders[row], steps, changes[row]):
                gap = abs(orders[row] - stored.order)
                ranks = not stored.is_processed, gap > 0, not stored.present
                pairs.append((*ranks, steps, gap, stored.id, k, row))
    result: dict[int, int] = {}
    taken: set[int] = set()
    for *_, k, row in sorted(pairs):
        if row not in result and k not in taken:
            result[row] = k
            taken.add(k)
    return result


def results_around(series: Series, stored: CandidateRecord) -> tuple[list[int], list[int]]:
    """Return the orders of the results before and after a candidate when it was last found.

    Where the series had fewer than are stored, its present results continue them.
    """
    orders, nearby = series.orders, stored.nearby
    if nearby is None:
        nearby = series.orders_around(series.index_of(stored.order), NEARBY)
    before = [order for order in nearby if order < stored.order]
    after = [order for order in nearby if order > stored.order]
    start = series.index_of(min((*before, stored.order)))
    end = int(np.searchsorted(orders, max((*after, stored.order)), side="right"))
    earlier = orders[max(0, start - NEARBY + len(before)) : start].tolist()
    later = orders[end : end + NEARBY - len(after)].tolist()
    return earlier + before, after + later


def distance(order: int, other: int, before: Sequence[int], after: Sequence[int]) -> int:
    """Return how many results lie between a candidate and another order.

    Args:
        order: The order of the candidate.
        other: The other order.
        before: The orders of the results before the candidate, ascending.
        after: The orders of the results after it, ascending.

    Returns:
        The number of results from one to the other, 0 between the results next to the candidate.

    Example:
        >>> before, after = [290, 300, 310], [330, 340]
        >>> [distance(320, other, before, after) for other in (300, 301, 310, 313, 325, 330)]
        [2, 1, 1, 0, 0, 1]
    """
    if other <= order:
        return len(before) - bisect_left(before, other)
    return bisect_right(after, other)


def _is_same(stored: CandidateRecord, order: int, steps: int, change: ChangePoint) -> bool:
    """Return whether a change point may be a stored candidate."""
    if order == stored.order:
        return True
    if steps > REACH:
        return False
    before, after = stored.before, stored.after
    if before is None or after is None:
        return True
    step, new_step = after.mean - before.mean, change.after.mean - change.before.mean
    # Noise moves the mean of a short region, and a small change is no larger than the noise.
    noise = math.sqrt((before.variance + after.variance) / 2)
    if step * new_step < 0 and max(abs(step), abs(new_step)) > noise:
        return False
    moved = abs(change.before.mean - before.mean), abs(change.after.mean - after.mean)
    return steps == 0 or max(moved) <= max(abs(step) / 2, noise)
