"""Size, sign and levels of a change: the one answer that every output prints.

The levels are the medians of the results nearest to the change, so that neither a spike nor what
happened long before or after it counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from barograph.results.series import ChangePoint, Direction, Floats, Region
from barograph.results.wording import BETTER, CHANGED, TREND, WORSE, EffectWord
from barograph.runtime.compiled import kernel

NEAR = 30  # results on each side whose median is the level
NEAREST = 12  # results on each side whose medians must not contradict the levels


class Size(NamedTuple):
    """The levels on both sides of a change, and what follows from them.

    Attributes:
        before: The level before the change.
        after: The level after it.
        is_trend: Whether the medians of whole segments, of the 30 and of the 12 nearest results
            contradict each other: then neither the levels nor their difference say much.

    Example:
        >>> size = Size(200.0, 230.0)
        >>> size.percent, size.effect(Direction.LOWER_IS_BETTER)
        (15.0, 'worse')
    """

    before: float
    after: float
    is_trend: bool = False

    @property
    def percent(self) -> float:
        """The change in percent of the level before; infinite from a level of 0."""
        if self.before:
            return 100.0 * (self.after - self.before) / abs(self.before)
        return math.copysign(math.inf, self.after) if self.after else 0.0

    def hazard(self, direction: Direction) -> float | None:
        """Return the logarithm of the level after over the level before; positive is worse.

        Daly et al. 2020, 3.1, signed by the direction. Two changes that cancel out have the same
        magnitude. If the direction is unknown, a rise is positive.

        Returns:
            The hazard, or None unless both levels are positive or both are negative.
        """
        before, after = self.before, self.after
        if before == 0 or after == 0 or (before > 0) != (after > 0):
            return None
        # The ratio could overflow; the logarithms cannot.
        change = math.log(abs(after)) - math.log(abs(before))
        # A negative level that grows in magnitude falls.
        is_worse = (before > 0) == (direction <= 0)
        return change if is_worse else -change

    def effect(self, direction: Direction) -> EffectWord:
        """Return whether the change is worse or better, a trend, or of unknown direction."""
        if self.is_trend:
            return TREND
        if self.before == self.after or not direction:
            return CHANGED
        return BETTER if (self.after > self.before) == (direction > 0) else WORSE


def size_of(before: Floats, after: Floats) -> Size:
    """Measure a change from the results of the segments on both sides of it.

    Args:
        before: The results since the previous change, oldest first; at least one.
        after: The results up to the next change, oldest first; at least one.

    Returns:
        The size. Its levels are the medians of the at most 30 nearest results on each side, or
        their means where the medians are equal.

    Example:
        >>> size_of(np.array([9.0, 1.0] * 40 + [5.0] * 30), np.array([6.0] * 30))
        Size(before=5.0, after=6.0, is_trend=False)
    """
    medians = median_of_sorted(np.sort(before)), median_of_sorted(np.sort(after))
    low, high, is_trend = near_levels(before, after, *medians)
    # Kernels that are interpreted return numbers of NumPy.
    return Size(float(low), float(high), bool(is_trend))


@kernel
def near_levels(
    before: Floats, after: Floats, whole_before: float, whole_after: float
) -> tuple[float, float, bool]:
    """Return both levels of a change, and whether it is a trend; see `size_of`.

    Args:
        before: The results since the previous change.
        after: The results up to the next change.
        whole_before: The median of `before`.
        whole_after: The median of `after`.
    """
    old, new = before[max(before.size - NEAR, 0) :], after[:NEAR]
    low, high = median_of_sorted(np.sort(old)), median_of_sorted(np.sort(new))
    if low == high:
        # The sum of large values could overflow.
        low, high = low + _mean_above(old, low), high + _mean_above(new, high)
    nearest_old = median_of_sorted(np.sort(before[max(before.size - NEAREST, 0) :]))
    nearest_new = median_of_sorted(np.sort(after[:NEAREST]))
    rises = low < high or nearest_old < nearest_new or whole_before < whole_after
    falls = low > high or nearest_old > nearest_new or whole_before > whole_after
    return low, high, rises and falls


def size_at(point: ChangePoint) -> Size:
    """Return the size of a change point, which its detector measured."""
    return Size(point.before.level, point.after.level, point.is_trend)


class LevelLine(NamedTuple):
    """A level as charts draw it: one that a change was measured with, or a segment's median."""

    start: int
    end: int
    level: float
    is_used: bool


def level_lines(
    values: Floats, changes: Sequence[tuple[int, Region | None, Region | None]]
) -> list[LevelLine]:
    """Return the levels to draw: those that changes were measured with, and between them medians.

    Args:
        values: The results; NaN where one is missing.
        changes: The first result of each new level with the regions on both sides, in order.

    Example:
        >>> near = Region.of(np.ones(40))
        >>> [line[:2] for line in level_lines(np.ones(50), [(40, near, None)])]
        [(0, 10), (10, 40), (40, 50)]
    """
    lines: list[LevelLine] = []
    edges = [(0, None, None), *changes, (values.size, None, None)]
    for (start, _, old), (end, new, _) in pairwise(edges):
        first = start if old is None else min(start + min(NEAR, old.count), end)
        last = end if new is None else max(end - min(NEAR, new.count), start)
        if old is not None:
            lines.append(LevelLine(start, first, old.level, is_used=True))
        if first < last:
            middle = float(np.nanmedian(values[start:end]))
            lines.append(LevelLine(first, last, middle, is_used=False))
        if new is not None:
            lines.append(LevelLine(last, end, new.level, is_used=True))
    # A short segment has one level, beside both of its changes.
    return [line for line in dict.fromkeys(lines) if line.end > line.start]


@kernel
def median_of_sorted(ordered: Floats) -> float:
    """Return the median of sorted values."""
    size = ordered.size
    middle: float = 0.5 * ordered[(size - 1) // 2] + 0.5 * ordered[size // 2]
    return middle


@kernel
def _mean_above(values: Floats, level: float) -> float:
    """Return the mean distance of values from a level."""
    total = 0.0
    for value in values:
        total += value - level
    return total / values.size
