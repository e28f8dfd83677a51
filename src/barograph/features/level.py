"""Mean and standard deviation of each side after min-max normalisation of both together.

Bauer et al. 2022, 2.1 and 3.1. With z = (x - min) / (max - min) over Pre and After together, the
mean and the unbiased standard deviation of each part; both follow from the raw sums.
"""

import math

import numpy as np

from barograph.features.sums import HUGE, TINY, Sums, variance
from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

# Two values that differ by more than this share of the largest one differ in 15 digits.
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
    """Divide before squaring, for spans whose square would overflow or vanish."""
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
    """Return whether only printed digits show if a pair of sides counts as constant."""
    span = high - low
    return 0.0 < span <= SURELY_DIFFERENT * max(abs(low), abs(high))


def prints_alike(low: float, high: float) -> bool:
    """Return whether both extremes, and so all values, print the same 15 significant digits.

    The authors' code treats such a pair as constant and does not scale its values.
    """
    return f"{low:.15g}" == f"{high:.15g}"


@kernel
def raw(sums: Sums) -> tuple[float, float]:
    """Return mean and standard deviation of unscaled values."""
    return sums.first + sums.distance / sums.size, np.sqrt(variance(sums))
