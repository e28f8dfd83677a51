"""Lumpiness, stability and max level shift of windows of equal width, and crossing points.

Lumpiness and stability: the standardised side is cut into full tiles from its start, and a shorter
tail is dropped. Lumpiness is the variance of the tiles' variances, stability the variance of their
means; both are 0 on sides shorter than two tiles. A nearly constant side is not standardised.

Max level shift: with m_i the mean of the `width` values from i on, max |m_{i + width} - m_i|, in
the unit of the values; 0 on sides shorter than two windows.

Crossing points: with a_i = [x_i <= median], the number of i where a_i and a_{i+1} differ.
"""

import math

import numpy as np

from barograph.features.sums import LARGEST, Sums, variance
from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

# The square root of the double precision: R's tolerance for "all equal".
TOLERANCE = 2.0**-26


@kernel
def _is_nearly_constant(sums: Sums) -> bool:
    """Return whether the values differ from the first one by at most the tolerance, on average."""
    if sums.differing == 0:
        return True
    size = sums.magnitude / sums.differing
    if not np.isfinite(size) or size <= TOLERANCE:
        size = 1.0
    return sums.gap / sums.differing / size <= TOLERANCE


@kernel
def _tile(x: Floats, first: float) -> tuple[float, float]:
    """Return the mean, relative to `first`, and the unbiased variance of one tile."""
    total = 0.0
    for value in x:
        total += value - first
    centre = total / x.size
    square = 0.0
    for value in x:
        square += ((value - first) - centre) ** 2
    return centre, square / (x.size - 1)


@kernel
def cut(x: Floats, first: float, width: int, means: Floats, variances: Floats) -> int:
    """Fill mean and variance of every full tile; return their number."""
    count = x.size // width
    for k in range(count):
        means[k], variances[k] = _tile(x[k * width : (k + 1) * width], first)
    return count


@kernel
def lumpiness_and_stability(sums: Sums, means: Floats, variances: Floats) -> tuple[float, float]:
    """Return both from the tiles of a side; 0 for fewer than two tiles."""
    if means.size < 2:
        return 0.0, 0.0
    unit = 1.0 if _is_nearly_constant(sums) else variance(sums)
    if not np.isfinite(unit):  # the authors' code divides by an infinite deviation here
        return 0.0, 0.0
    return _variance(variances, unit), _variance(means, math.sqrt(unit))


@kernel
def _variance(values: Floats, unit: float) -> float:
    """Return the unbiased variance of values / unit, at most the largest double."""
    total = 0.0
    for value in values:
        total += (value - values[0]) / unit
    centre = total / values.size
    square = 0.0
    for value in values:
        square += ((value - values[0]) / unit - centre) ** 2
    result = square / (values.size - 1)
    return LARGEST if np.isnan(result) else min(result, LARGEST)


@kernel
def max_level_shift(x: Floats, width: int, means: Floats) -> float:
    """Return the largest step; `means` is work space of the side's length."""
    count = x.size - width + 1
    if count <= width:
        return 0.0
    for i in range(count):
        means[i] = x[i] - x[0]
    for j in range(1, width):
        for i in range(count):
            means[i] += x[i + j] - x[0]
    for i in range(count):
        means[i] /= width
    largest = 0.0
    for i in range(count - width):
        largest = max(largest, abs(means[i + width] - means[i]))
    return largest


@kernel
def crossing_points(x: Floats) -> float:
    """Return how often a side crosses its own median."""
    middle = _middle(x)
    if x.size % 2 == 0:
        below, less = -np.inf, 0
        for value in x:
            below = max(below, value if value < middle else below)
            less += value < middle
        middle = (below + middle) / 2.0 if less == x.size // 2 else middle
    count = 0
    for i in range(x.size - 1):
        count += (x[i] <= middle) != (x[i + 1] <= middle)
    return float(count)


@kernel
def _middle(x: Floats) -> float:
    """Return the value of rank n // 2, counted from 0.

    Quickselect, several times as fast as a partition of NumPy's: its loops over the values have no
    branches, of which a processor would mispredict every other one.
    """
    kept, rank = x.copy(), x.size // 2
    while True:
        quarter, last = kept.size // 4, kept.size - 1
        a, b, c = kept[quarter], kept[kept.size // 2], kept[last - quarter]
        pivot: float = max(min(a, b), min(max(a, b), c))
        less = equal = 0
        for value in kept:
            less += value < pivot
            equal += value == pivot
        if less <= rank < less + equal:
            return pivot
        sign = 1.0 if rank > less else -1.0
        rank -= less + equal if rank > less else 0
        count = np.uint64(0)  # unsigned: no check for a negative index
        for value in kept:
            kept[count] = value
            count += np.uint64(sign * value > sign * pivot)
        kept = kept[: int(count)]
