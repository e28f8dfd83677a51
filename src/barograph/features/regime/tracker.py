"""The current regime of a series, tracked point by point and independently of any alarms.

A new regime starts where five points in a row are more than one noise unit on one side of the
median of the old one, and their median is more than two away. Alarms are not used, so a wrong alarm
cannot distort the history. All values are scaled by the power of two of the first one that is not
zero, so that no square overflows or vanishes.
"""

import math

import numpy as np

from barograph.features.contrast.robust import LEAST, MAD_OF_GAUSS, median, middle_distance
from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

IN_A_ROW = 5
AWAY = 2.0
# Scaled values are limited to this magnitude, which no measurement reaches.
FARTHEST = 1e100

# The entries of the state.
COUNT, START, MEAN, SQUARES, LEVEL, UNIT, SIDE, ROW, ROW_LEVEL, ROW_UNIT, SCALE, PEAK = range(12)
LARGEST_MOVE, SHIFTS, SHIFT_SUM, LARGEST_SHIFT = range(12, 16)
LENGTH = 16
# The rows of the table: values, the level before each, and the sorted values of the regime.
VALUES, LEVELS, REGIME = range(3)
ROWS = 3


@kernel
def append(table: Floats, state: Floats, value: float) -> None:
    """Append a value; the table must have room for it."""
    n = int(state[COUNT])
    if state[SCALE] == 0.0:
        state[SCALE] = unit_of(value)
    x = scaled(value, state[SCALE])
    table[VALUES, n] = x
    table[LEVELS, n] = state[LEVEL] if n else x
    state[PEAK] = max(state[PEAK], abs(x))
    if n:
        state[LARGEST_MOVE] = max(state[LARGEST_MOVE], abs(x - table[VALUES, n - 1]))
    state[COUNT] = n + 1
    _follow(state, x)
    if not _shifted(table, state):
        _grow(table, state, x)
    _measure(table, state)


@kernel
def unit_of(value: float) -> float:
    """Return the power of two that scales a value to about 1; 0 for 0."""
    return math.ldexp(1.0, -max(-1000, min(1000, math.frexp(value)[1]))) if value else 0.0


@kernel
def scaled(value: float, scale: float) -> float:
    """Return a value in the tracker's scale."""
    return min(max(value * scale, -FARTHEST), FARTHEST)


@kernel
def _insert(ordered: Floats, size: int, value: float) -> None:
    """Insert a value into sorted ones; a linear walk predicts better than bisection."""
    place = size
    while place > 0 and ordered[place - 1] >= value:
        ordered[place] = ordered[place - 1]
        place -= 1
    ordered[place] = value


@kernel
def _grow(table: Floats, state: Floats, x: float) -> None:
    """Add a value to the regime: sorted values, mean and squares (Welford)."""
    size = int(state[COUNT] - state[START])
    _insert(table[REGIME], size - 1, x)
    away = x - state[MEAN]
    state[MEAN] += away / size
    state[SQUARES] += away * (x - state[MEAN])


@kernel
def _follow(state: Floats, x: float) -> None:
    """Count the points in a row that are more than one noise unit on one side."""
    away = x - state[LEVEL]
    side = 0.0
    if state[COUNT] > IN_A_ROW and abs(away) > state[UNIT]:
        side = math.copysign(1.0, away)
    if side != 0.0 and side == state[SIDE]:
        state[ROW] += 1.0
        return
    state[SIDE], state[ROW] = side, abs(side)
    state[ROW_LEVEL], state[ROW_UNIT] = state[LEVEL], state[UNIT]


@kernel
def _shifted(table: Floats, state: Floats) -> bool:
    """Start a new regime at the first of the points in a row, if they are far enough away."""
    if state[ROW] < IN_A_ROW:
        return False
    n, first = int(state[COUNT]), int(state[COUNT] - state[ROW])
    middle = median(np.sort(table[VALUES, n - IN_A_ROW : n]))
    shift = abs(middle - state[ROW_LEVEL])
    if shift <= AWAY * state[ROW_UNIT]:
        return False
    state[SHIFTS] += 1.0
    state[SHIFT_SUM] += shift
    state[LARGEST_SHIFT] = max(state[LARGEST_SHIFT], shift)
    state[SIDE] = state[ROW] = state[MEAN] = state[SQUARES] = 0.0
    state[START] = first
    for i in range(first, n):
        state[COUNT] = i + 1
        _grow(table, state, table[VALUES, i])
    return True


@kernel
def _measure(table: Floats, state: Floats) -> None:
    """Set level and noise unit: median, and 1.4826 MAD or half of the deviation if larger."""
    size = int(state[COUNT] - state[START])
    ordered = table[REGIME, :size]
    state[LEVEL] = median(ordered)
    noise = middle_distance(ordered, state[LEVEL]) / MAD_OF_GAUSS
    deviation = math.sqrt(state[SQUARES] / size)
    state[UNIT] = max(noise, 0.5 * deviation, LEAST * state[PEAK])
