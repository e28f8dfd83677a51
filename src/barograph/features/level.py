"""Mean and standard deviation of each side after min-max normalisation of both together.

Bauer et al. 2022, 2.1 and 3.1. With z = (x - min) / (max - min) over Pre and After together, the
mean and the unbiased standard deviation of each part; both follow from the raw sums.
"""

import math

import numpy as np

from barograph.compiled import kernel
from barograph.features.sums import HUGE, TINY, Sums, variance
from barograph.series import Floats

# Above this share of the largest magnitude, two values always differ in 15 significant digits.
SURELY_DIFFERENT = 1.0000001e-14


@kernel
def normalised(x: Floats, sums: Sums, low: float, high: float) -> tuple[float, float]:
    """Return mean and standard deviation of (x - low) / (high - low)."""
    span = high - low
    if span < TINY or span > HUGE:
        return _normalised_carefully(x, low, span)
    centre = ((sums.first - low) + sums.distance / sums.size) / span
    return centre, math.sqrt(variance(sums)) / span


@kernel
def _normalised_carefully(x: Floats, low: float, span: float) -> tuple[float, float]:
    """Divide before squaring: for spans whose square overflows or vanishes."""
    total = 0.0
    for value in x:
        total += (value - low) / span
    centre = total / x.size
    square = 0.0
    for value in x:
        square += ((value - low) / span - centre) ** 2
    return centre, math.sqrt(square / max(x.size - 1, 1))


@kernel
def is_doubtful(low: float, high: float) -> bool:
    """Whether only the printed digits tell if a pair of sides counts as constant."""
    span = high - low
    return 0.0 < span <= SURELY_DIFFERENT * max(abs(low), abs(high))


def prints_alike(low: float, high: float) -> bool:
    """Whether both extremes, hence all values, print the same 15 significant digits.

    The authors' code takes such a pair for constant and leaves its values unscaled.
    """
    return f"{low:.15g}" == f"{high:.15g}"


@kernel
def raw(sums: Sums) -> tuple[float, float]:
    """Return mean and standard deviation of values that stay as they are."""
    return sums.first + sums.distance / sums.size, np.sqrt(variance(sums))
