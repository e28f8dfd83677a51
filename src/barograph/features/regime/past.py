"""The summary of a series before a point: a row of numbers that no later point changes."""

import numpy as np

from barograph.features.contrast.robust import (
    LEAST,
    MAD_OF_GAUSS,
    lag1,
    median,
    middle_distance,
    usual_move,
)
from barograph.features.regime import tracker
from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

# The entries of a row.
COUNT, START, LEVEL, UNIT, FLOOR, MOVE, MOVE_12, LAG1, EXTENT = range(9)
MEDIAN_30, UNIT_30, MEDIAN_5, LARGEST_MOVE, SHIFTS, MEAN_SHIFT, LARGEST_SHIFT = range(9, 16)
WIDTH = 16

_MOVES = 60
_SERIAL = 50
_SHORT = 30
_TAIL = 0.005


@kernel
def summarise(table: Floats, state: Floats, out: Floats) -> None:
    """Fill the summary for the next point from the tracker's state, in its scale."""
    n, start = int(state[tracker.COUNT]), int(state[tracker.START])
    values = table[tracker.VALUES, :n]
    floor = LEAST * state[tracker.PEAK] + 1e-300
    out[COUNT], out[START] = n, start
    out[LEVEL], out[UNIT], out[FLOOR] = state[tracker.LEVEL], state[tracker.UNIT] + floor, floor
    out[MOVE], out[MOVE_12] = (
        _noise_of_last(values, _MOVES) + floor,
        _noise_of_last(values, 12) + floor,
    )
    out[LAG1] = lag1(values[max(start, n - _SERIAL) :], state[tracker.LEVEL])
    out[EXTENT] = extent(values) + floor
    recent = np.sort(values[max(0, n - _SHORT) :])
    out[MEDIAN_30] = median(recent)
    noise = middle_distance(recent, out[MEDIAN_30]) / MAD_OF_GAUSS
    out[UNIT_30] = max(noise, 0.5 * recent.std()) + floor
    out[MEDIAN_5] = median(np.sort(values[max(0, n - 5) :]))
    out[LARGEST_MOVE] = state[tracker.LARGEST_MOVE] + floor
    shifts = state[tracker.SHIFTS]
    out[SHIFTS] = shifts
    out[MEAN_SHIFT] = state[tracker.SHIFT_SUM] / max(1.0, shifts) + floor
    out[LARGEST_SHIFT] = state[tracker.LARGEST_SHIFT] + floor


@kernel
def _noise_of_last(values: Floats, width: int) -> float:
    """Return the noise estimated from the last `width` moves."""
    return usual_move(values[max(0, values.size - width - 1) :])


@kernel
def extent(values: Floats) -> float:
    """Return the distance between the 0.5 % and 99.5 % quantiles; only the tails are sorted.

    Both are interpolated: the upper one between the last two of the largest values.
    """
    place = (values.size - 1) * (1.0 - _TAIL)
    low = int(place)
    largest = _largest(values, values.size - low, 1.0)
    upper = largest[-1]
    if largest.size > 1:
        upper += (largest[-2] - upper) * (place - low)
    place = (values.size - 1) * _TAIL
    low = int(place)
    smallest = _largest(values, min(low + 2, values.size), -1.0)
    lower = -smallest[low]
    if smallest.size > low + 1:
        lower += (-smallest[low + 1] - lower) * (place - low)
    return float(upper - lower)


@kernel
def _largest(values: Floats, count: int, sign: float) -> Floats:
    """Return the `count` largest values, or the negated smallest ones if `sign` is -1."""
    top = np.full(count, -np.inf)
    for value in values:
        x = sign * value
        if x > top[-1]:
            k = count - 1
            while k > 0 and top[k - 1] < x:
                top[k] = top[k - 1]
                k -= 1
            top[k] = x
    return top
