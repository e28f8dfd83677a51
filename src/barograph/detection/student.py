"""Student's t: the two-sided tail probability, accurate far into the tails."""

import math

from barograph.compiled import kernel

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
    """Tell whether the two-sided probability is at most `pvalue` (not so if it is not a number).

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
