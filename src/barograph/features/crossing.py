"""Crossing points: how often a side crosses its own median.

With a_i = [x_i <= median], the number of i where a_i and a_{i+1} differ.
"""

import numpy as np

from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

SORTED_BELOW = 17  # fewer values are sorted rather than partitioned again


@kernel
def crossing_points(x: Floats, work: Floats) -> float:
    """Count the crossings; `work` is work space of at least the side's length."""
    low, high = middle_values(x, work)
    median = high if x.size % 2 else (low + high) / 2.0
    count = 0
    for i in range(x.size - 1):
        count += (x[i] <= median) != (x[i + 1] <= median)
    return float(count)


@kernel
def middle_values(x: Floats, work: Floats) -> tuple[float, float]:
    """Return the values of rank n // 2 - 1 and n // 2, counted from 0; -inf for a missing one.

    Quickselect: keeps the values on the rank's side of the pivot and drops the others. The loops
    over the values have no branches, because a processor would mispredict every other one.
    """
    kept = work[: x.size]
    kept[:] = x
    rank = x.size // 2
    below = -np.inf  # the largest dropped value below the rank
    while kept.size >= SORTED_BELOW:
        pivot = pivot_of(kept)
        less = equal = 0
        for value in kept:
            less += value < pivot
            equal += value == pivot
        if rank < less:
            kept = kept[: _keep_less(kept, pivot)]
        elif rank >= less + equal:
            rank -= less + equal
            below = pivot
            kept = kept[: _keep_greater(kept, pivot)]
        elif rank > less:
            return pivot, pivot
        else:
            for value in kept:
                below = max(below, value if value < pivot else below)
            return below, pivot
    _sort(kept)
    return kept[rank - 1] if rank else below, kept[rank]


@kernel
def _keep_less(x: Floats, pivot: float) -> int:
    """Move the values below the pivot to the front; return their number."""
    count = np.uint64(0)  # unsigned: no check for a negative index
    for value in x:
        x[count] = value
        count += np.uint64(value < pivot)
    return int(count)


@kernel
def _keep_greater(x: Floats, pivot: float) -> int:
    """Move the values above the pivot to the front; return their number."""
    count = np.uint64(0)
    for value in x:
        x[count] = value
        count += np.uint64(value > pivot)
    return int(count)


@kernel
def pivot_of(x: Floats) -> float:
    """Return the median of three medians of three values, at places spaced by the golden ratio.

    In a periodic side, equally spaced places would all have the same phase, in every pass.
    """
    n = float(x.size)
    return _of_three(
        _of_three(x[int(0.618 * n)], x[int(0.236 * n)], x[int(0.854 * n)]),
        _of_three(x[int(0.472 * n)], x[int(0.090 * n)], x[int(0.708 * n)]),
        _of_three(x[int(0.326 * n)], x[int(0.944 * n)], x[int(0.562 * n)]),
    )


@kernel
def _of_three(a: float, b: float, c: float) -> float:
    return max(min(a, b), min(max(a, b), c))


@kernel
def _sort(x: Floats) -> None:
    for i in range(1, x.size):
        value, place = x[i], i
        while place > 0 and x[place - 1] > value:
            x[place] = x[place - 1]
            place -= 1
        x[place] = value
