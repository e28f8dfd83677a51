"""Numerics that detectors share: sums, Student's t, sorted windows, p-values."""

import math

import numpy as np

from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

BLOCK = 128
# Two entries for each halving of the longest stretch that memory can hold.
DEPTH = 128


@kernel
def pairwise_sum(values: Floats, start: int, end: int) -> float:
    """Return the sum of values[start:end], rounded as in `numpy.sum`."""
    size = end - start
    if size < 8:
        total = 0.0
        for i in range(start, end):
            total += values[i]
        return total
    if size <= BLOCK:
        return _interleaved(values, start, end)
    return _by_halves(values, start, end)


@kernel
def _by_halves(values: Floats, start: int, end: int) -> float:
    """Sum more than one block, without recursion, because recursive kernels cannot be cached."""
    starts, ends, sums = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64), np.empty(DEPTH)
    starts[0], ends[0], todo, done = start, end, 1, 0
    while todo:
        todo -= 1
        a, b = starts[todo], ends[todo]
        if a < 0:
            done -= 1
            sums[done - 1] += sums[done]
        elif b - a <= BLOCK:
            sums[done] = _interleaved(values, a, b)
            done += 1
        else:
            half = (b - a) // 2
            half -= half % 8
            # Last in, first out: the left half, the right half, then their sum (marked by -1).
            starts[todo] = -1
            starts[todo + 1], ends[todo + 1] = a + half, b
            starts[todo + 2], ends[todo + 2] = a, a + half
            todo += 3
    return float(sums[0])


@kernel
def _interleaved(values: Floats, start: int, end: int) -> float:
    a, b, c, d = values[start], values[start + 1], values[start + 2], values[start + 3]
    e, f, g, h = values[start + 4], values[start + 5], values[start + 6], values[start + 7]
    i = start + 8
    while i + 8 <= end:
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
        i += 8
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    while i < end:
        total += values[i]
        i += 1
    return float(total)


@kernel
def mean_and_squares(
    values: Floats, start: int, end: int, pivot: float, scratch: Floats
) -> tuple[float, float]:
    """Return the mean of values[start:end] and the sum of squared deviations from it.

    The values are taken relative to `pivot`: at one of the values, a constant stretch has the
    deviation 0 exactly, whatever its level; at 0, the result is NumPy's to the bit.
    """
    size = end - start
    for i in range(size):
        scratch[i] = values[start + i] - pivot
    mean = pairwise_sum(scratch, 0, size) / size
    for i in range(size):
        scratch[i] = (scratch[i] - mean) ** 2
    return pivot + mean, pairwise_sum(scratch, 0, size)


# Above this number of degrees of freedom over two, the series of `_gamma_ratio` is exact.
ASYMPTOTIC = 32.0
TINY = 1e-300


@kernel
def two_sided(t: float, freedom: float) -> float:
    """Return the probability that |T| is at least |t|, to a relative 1e-13 or so.

    It is the regularised incomplete beta function I_x(v/2, 1/2) at x = v / (v + t^2).
    """
    square = t * t
    if math.isnan(square):
        return math.nan
    if math.isinf(square):
        return 0.0
    a = 0.5 * freedom
    x = freedom / (freedom + square)
    rest = square / (freedom + square)
    # The front factor: x to the a, times the root of 1 - x, over B(a, 1/2).
    front = math.exp(-a * math.log1p(square / freedom)) * math.sqrt(rest)
    front *= _gamma_ratio(a) / math.sqrt(math.pi)
    # The continued fraction converges fast on this side of the mean of the beta distribution.
    if x < (a + 1.0) / (a + 2.5):
        return front * _fraction(a, 0.5, x) / a
    return 1.0 - front * _fraction(0.5, a, rest) / 0.5


@kernel
def significant(t: float, freedom: float, pvalue: float) -> bool:
    """Return whether the two-sided probability is at most `pvalue` (False if it is NaN).

    Student's tails are heavier than the normal's, so most of what is not significant is known
    from the latter, which costs a tenth.
    """
    if math.erfc(abs(t) * math.sqrt(0.5)) * (1.0 - 1e-9) > pvalue:
        return False
    return two_sided(t, freedom) <= pvalue


@kernel
def _gamma_ratio(a: float) -> float:
    """Return gamma(a + 1/2) / gamma(a): recurrence up to where the asymptotic series holds."""
    factor = 1.0
    while a < ASYMPTOTIC:
        factor *= a / (a + 0.5)
        a += 1.0
    u = 1.0 / a
    series = -399.0 / 262144 + u * (869.0 / 4194304 + u * (39325.0 / 33554432))
    series = 5.0 / 1024 + u * (-21.0 / 32768 + u * series)
    series = 1.0 + u * (-1.0 / 8 + u * (1.0 / 128 + u * series))
    return factor * math.sqrt(a) * series


@kernel
def _fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function by Lentz's method."""
    c = 1.0
    d = 1.0 / max(1.0 - (a + b) * x / (a + 1.0), TINY)
    value = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / _away_from_zero(1.0 + even * d)
        c = _away_from_zero(1.0 + even / c)
        value *= d * c
        d = 1.0 / _away_from_zero(1.0 + odd * d)
        c = _away_from_zero(1.0 + odd / c)
        step = d * c
        value *= step
        if abs(step - 1.0) < 3e-16:
            break
    return value


@kernel
def _away_from_zero(x: float) -> float:
    return x if abs(x) > TINY else TINY


@kernel
def insert_sorted(window: Floats, size: int, value: float) -> int:
    """Insert a value into the sorted window; return its new size."""
    place = size
    while place > 0 and window[place - 1] > value:
        window[place] = window[place - 1]
        place -= 1
    window[place] = value
    return size + 1


@kernel
def remove_sorted(window: Floats, size: int, value: float) -> int:
    """Remove a value from the sorted window; return its new size."""
    place = 0
    while window[place] != value:
        place += 1
    for k in range(place, size - 1):
        window[k] = window[k + 1]
    return size - 1


def largest_kept(pvalues: Floats, rate: float, tests: int) -> float:
    """Return the largest p-value that Benjamini and Hochberg keep, -1 if there is none."""
    ordered = np.sort(pvalues)
    passing = ordered[ordered <= rate * np.arange(1, ordered.size + 1) / max(tests, 1)]
    return float(passing[-1]) if passing.size else -1.0
