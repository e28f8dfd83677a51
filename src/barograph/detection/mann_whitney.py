"""The Mann-Whitney U test of two samples (Fleming et al. 2023, 3.2), as SciPy computes it.

Exact if there are no ties and a sample has at most eight values; otherwise the normal
approximation with corrections for continuity and for ties. `scipy.stats.mannwhitneyu` gives the
same p-values, but cannot be called from a kernel.
"""

import math

import numpy as np

from barograph.compiled import kernel
from barograph.series import Floats

EXACT = 8  # values of the smaller sample
MOST = 800  # values of both samples: the number of their orders fits 64 bits


@kernel
def mann_whitney(values: Floats, start: int, split: int, end: int) -> float:
    """Return the two-sided p-value of values[start:split] against values[split:end]."""
    left, right = split - start, end - split
    both = values[start:end]
    order = np.argsort(both)
    ranks, ties, first = 0.0, 0.0, 0
    while first < both.size:
        last = first + 1
        while last < both.size and both[order[last]] == both[order[first]]:
            last += 1
        for k in range(first, last):
            if order[k] < left:
                ranks += 0.5 * (first + last + 1)  # tied values share the mean of their ranks
        equal = float(last - first)
        ties += equal**3 - equal
        first = last
    u = ranks - 0.5 * left * (left + 1)
    u = max(u, left * right - u)
    if ties == 0.0 and min(left, right) <= EXACT and both.size <= MOST:
        return min(2.0 * _tail(min(left, right), max(left, right), int(u)), 1.0)
    size = float(both.size)
    variance = left * right / 12.0 * (size + 1.0 - ties / (size * (size - 1.0)))
    if variance <= 0.0:  # all values are equal
        return 1.0
    z = (u - 0.5 * left * right - 0.5) / math.sqrt(variance)
    return min(math.erfc(z * math.sqrt(0.5)), 1.0)


@kernel
def _tail(small: int, large: int, u: int) -> float:
    """Return the probability of a U of at least `u`, if all orders are equally likely.

    The number of orders for each U are the coefficients of a Gaussian binomial: the product of
    (1 - q^(large + i)) / (1 - q^i) over i up to `small`. Whole numbers that wrap around on the
    way end up right, as the coefficients fit.
    """
    counts = np.zeros(small * large + 1, np.int64)
    counts[0] = 1
    for i in range(1, small + 1):
        for k in range(counts.size - 1, large + i - 1, -1):
            counts[k] -= counts[k - large - i]
        for k in range(i, counts.size):
            counts[k] += counts[k - i]
    reached, total = 0.0, 0.0
    for k in range(counts.size):
        total += counts[k]
        if k >= u:
            reached += counts[k]
    return reached / total
