"""Lumpiness and stability: the side cut into tiles of equal width.

With y the standardised side and K full tiles from its start (a shorter tail is dropped):
lumpiness is the variance of the tiles' variances, stability the variance of their means; both are
0 on sides shorter than two tiles. A nearly constant side is taken as it is, not standardised.
"""

import math

import numpy as np

from barograph.compiled import kernel
from barograph.features.sums import LARGEST, Sums, variance
from barograph.series import Floats

# The square root of the double precision: R's tolerance for "all equal".
TOLERANCE = 2.0**-26


@kernel
def is_nearly_constant(sums: Sums) -> bool:
    """Whether the values that differ from the first do so by less than the tolerance."""
    if sums.differing == 0:
        return True
    size = sums.magnitude / sums.differing
    if not np.isfinite(size) or size <= TOLERANCE:
        size = 1.0
    return sums.gap / sums.differing / size <= TOLERANCE


@kernel
def tile(x: Floats, first: float) -> tuple[float, float]:
    """Return the mean, as a distance to `first`, and the unbiased variance of one tile."""
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
    """Fill mean and variance of every full tile; return how many there are."""
    count = x.size // width
    for k in range(count):
        means[k], variances[k] = tile(x[k * width : (k + 1) * width], first)
    return count


@kernel
def lumpiness_and_stability(sums: Sums, means: Floats, variances: Floats) -> tuple[float, float]:
    """Return both from the tiles of a side; fewer than two tiles give 0."""
    if means.size < 2:
        return 0.0, 0.0
    unit = 1.0 if is_nearly_constant(sums) else variance(sums)
    if not np.isfinite(unit):  # the authors' code divides by an infinite deviation here
        return 0.0, 0.0
    return spread(variances, unit), spread(means, math.sqrt(unit))


@kernel
def spread(values: Floats, unit: float) -> float:
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
    """Return the largest step; `means` is work space as long as the side."""
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
