"""What is known of a series before a point: one row of numbers that no later point changes."""

import numpy as np

from barograph.compiled import kernel
from barograph.features.contrast.robust import (
    LEAST,
    MAD_OF_GAUSS,
    lag1,
    median,
    quantile,
    usual_move,
)
from barograph.features.regime import tracker
from barograph.series import Floats

# The entries of a row.
COUNT, START, LEVEL, UNIT, FLOOR, MOVE, MOVE_12, LAG1, EXTENT = range(9)
MEDIAN_30, UNIT_30, MEDIAN_5, LARGEST_MOVE, SHIFTS, MEAN_SHIFT, LARGEST_SHIFT = range(9, 16)
WIDTH = 16

_MOVES = 60
_SERIAL = 50
_SHORT = 30


@kernel
def summarise(table: Floats, state: Floats, out: Floats) -> None:
    """Fill the row of the next point from the tracker's state; all lengths in scaled values."""
    n, start = int(state[tracker.COUNT]), int(state[tracker.START])
    values = table[tracker.VALUES, :n]
    floor = LEAST * state[tracker.PEAK] + 1e-300
    out[COUNT], out[START] = n, start
    out[LEVEL], out[UNIT], out[FLOOR] = state[tracker.LEVEL], state[tracker.UNIT] + floor, floor
    out[MOVE], out[MOVE_12] = _usual(values, _MOVES) + floor, _usual(values, 12) + floor
    out[LAG1] = lag1(values[max(start, n - _SERIAL) :], state[tracker.LEVEL])
    ordered = tracker.in_order(table, state)
    out[EXTENT] = quantile(ordered, 0.995) - quantile(ordered, 0.005) + floor
    recent = np.sort(values[max(0, n - _SHORT) :])
    out[MEDIAN_30] = median(recent)
    noise = tracker.middle_distance(recent, out[MEDIAN_30]) / MAD_OF_GAUSS
    out[UNIT_30] = max(noise, 0.5 * recent.std()) + floor
    out[MEDIAN_5] = median(np.sort(values[max(0, n - 5) :]))
    out[LARGEST_MOVE] = state[tracker.LARGEST_MOVE] + floor
    shifts = state[tracker.SHIFTS]
    out[SHIFTS] = shifts
    out[MEAN_SHIFT] = state[tracker.SHIFT_SUM] / max(1.0, shifts) + floor
    out[LARGEST_SHIFT] = state[tracker.LARGEST_SHIFT] + floor


@kernel
def _usual(values: Floats, width: int) -> float:
    """Return the noise that the last moves, so many, stand for."""
    return usual_move(values[max(0, values.size - width - 1) :])
