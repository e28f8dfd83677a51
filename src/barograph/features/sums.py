"""The extremes and sums of a side that several characteristics share.

Every sum runs from left to right over the distances to the first value. These distances are exact
on nearly constant sides, where it matters. Because the first value belongs to the side, the
cancellation in a variance is at most a factor of the side's length.
"""

from typing import NamedTuple

import numpy as np

from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

# Squares of distances outside these limits leave the range of doubles.
TINY = 1e-140
HUGE = 1e150
LARGEST = float(np.finfo(np.float64).max)
_SPLITTER = 134217729.0  # 2^27 + 1


class Sums(NamedTuple):
    """Running sums of a side; d is the distance of a value to the first one."""

    size: int
    first: float
    low: float
    high: float
    distance: float  # sum of d
    square: float  # sum of d^2
    differing: int  # the number of values that differ from the first one
    gap: float  # sum of |d| over these
    magnitude: float  # sum of |x| over these


@kernel
def sums_of(x: Floats) -> Sums:
    """Return the sums of a non-empty side in one pass."""
    low = high = x[0]
    distance = square = gap = magnitude = 0.0
    differing = 0
    for value in x:
        d = value - x[0]
        low, high = min(low, value), max(high, value)
        distance += d
        square += d * d
        gap += abs(d)
        if value != x[0]:
            differing += 1
            magnitude += abs(value)
    return Sums(x.size, x[0], low, high, distance, square, differing, gap, magnitude)


@kernel
def mean(sums: Sums) -> float:
    """Return the mean; on sides that hardly vary it is rounded as in higher precision."""
    return sums.first + sums.distance / sums.size


@kernel
def variance(sums: Sums) -> float:
    """Return the unbiased variance; infinite where the squares overflow, 0 for one value."""
    if sums.size < 2:
        return 0.0
    squares = sums.square - sums.distance * (sums.distance / sums.size)
    if not np.isfinite(squares):
        return np.inf
    return max(squares, 0.0) / (sums.size - 1)


@kernel
def compensated_mean(x: Floats) -> float:
    """Return the mean from a sum in twice the precision (Dekker, Knuth), rounded once."""
    high, low = 0.0, 0.0
    for value in x:
        total = high + value
        rest = total - high
        low += (high - (total - rest)) + (value - rest)
        high = total
    quotient = (high + low) / x.size
    product, error = _product(quotient, float(x.size))
    return quotient + (((high - product) - error) + low) / x.size


@kernel
def _product(a: float, b: float) -> tuple[float, float]:
    """Return a * b and its rounding error."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


@kernel
def _halves(a: float) -> tuple[float, float]:
    big = _SPLITTER * a
    high = big - (big - a)
    return high, a - high
