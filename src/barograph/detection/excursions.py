"""Excursions: a few points far from the level around them.

An excursion is a run of 1 to 12 points on one side of the running median, after which the series
comes back. Each of them lies more than `FAR` robust standard deviations from that median, and at
least half as high again or a third lower. The median is of 25 points near the ends of the series
too: of fewer, it would move to another level before the values do, and a part of a level would be
far from it. A run that reaches the end of the series may be a new level. It is an excursion only if
it is a spike, which would otherwise hide all earlier changes until the next result.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from barograph.detection.numerics import insert_sorted, remove_sorted
from barograph.features.contrast.robust import median, middle_distance
from barograph.results.repeats import MAD_TO_SD
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel

HALF_WINDOW = 12
PULSE = 3  # excursions of fewer points are spikes
LONGEST = 12  # half a window: of more points the running median is the excursion itself
FAR = 8.0
RATIO = 1.5
# Points on either side whose median fills an excursion.
LEVEL = 8


class Excursion(NamedTuple):
    """The points start, ..., end - 1 of a series."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """Number of points."""
        return self.end - self.start


def excursions(values: Floats) -> list[Excursion]:
    """Return the excursions of a series, in order.

    Args:
        values: A series of finite values.

    Example:
        >>> import numpy as np
        >>> values = np.random.default_rng(0).normal(100.0, 1.0, 60)
        >>> values[30:33] = 200.0
        >>> excursions(values)
        [Excursion(start=30, end=33)]
    """
    side = np.zeros(values.size, dtype=np.int64)
    _mark_far_points(values, side)
    edges = np.flatnonzero(np.diff(side, prepend=0, append=0))
    return [
        Excursion(int(start), int(end))
        for start, end in pairwise(edges)
        if side[start] and end - start <= LONGEST and (end < values.size or end - start < PULSE)
    ]


def fill(values: Floats, runs: Sequence[Excursion]) -> Floats:
    """Return a copy in which each excursion has the level beside it.

    The first half of an excursion takes the level before or after it, whichever is nearer to the
    last point before it; the second half takes the one nearer to the first point after it. So a
    step within an excursion stays near its place, and one just before or after it stays there.

    Args:
        values: A series of finite values.
        runs: Its excursions.
    """
    filled = values.copy()
    usual = np.ones(values.size, dtype=bool)
    for start, end in runs:
        usual[start:end] = False
    for start, end in runs:
        before = values[:start][usual[:start]][-LEVEL:]
        after = values[end:][usual[end:]][:LEVEL]
        if not before.size + after.size:
            continue
        levels = np.array([np.median(side) for side in (before, after) if side.size])
        beside = before[-1] if before.size else after[0], after[0] if after.size else before[-1]
        middle = start + (end - start + 1) // 2
        for part, value in zip((slice(start, middle), slice(middle, end)), beside, strict=True):
            filled[part] = levels[np.argmin(np.abs(levels - value))]
    return filled


@kernel
def _mark_far_points(values: Floats, side: Ints) -> None:
    """Write 1 for each point far above the median around it, -1 far below, and 0 otherwise."""
    window = np.empty(2 * HALF_WINDOW + 2)  # a value enters before another one leaves
    size = 0
    for i in range(min(2 * HALF_WINDOW + 1, values.size)):
        size = insert_sorted(window, size, values[i])
    for i in range(values.size):
        if HALF_WINDOW < i < values.size - HALF_WINDOW:
            size = insert_sorted(window, size, values[i + HALF_WINDOW])
            size = remove_sorted(window, size, values[i - HALF_WINDOW - 1])
        level = median(window[:size])
        distance = abs(values[i] - level)
        if distance > FAR * MAD_TO_SD * middle_distance(window[:size], level):
            low, high = level / RATIO, level * RATIO
            if values[i] >= max(low, high):
                side[i] = 1
            elif values[i] <= min(low, high):
                side[i] = -1
