"""The Hurst exponent of each side: d + 1/2 of a fractionally integrated process.

d maximises the approximate likelihood of ARFIMA(0, d, 0) (Haslett and Raftery 1989) on [0, 1/2]. It
is found by Brent's minimiser without derivatives: parabolas through the three best points, and
golden sections where a parabola fails. The point where it stops is part of the definition, so it
follows the classical `fmin` (Brent 1973) with the authors' tolerance. The exponent of a constant
side is defined as 0.5.

In the likelihood, each value is predicted from the earlier ones: exactly from up to 99 of them,
then from the last 100 with a correction for the mean of all before these. It does not depend on
level and scale, so a side is first centred and scaled to range 1, which avoids overflow.
"""

import math
from typing import NamedTuple

import numpy as np

from barograph.features.families import Family
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import fused_kernel, kernel

NAMES = ("pre_hurst", "after_hurst")
CONSTANT = 0.5
LOW, HIGH = 0.0, 0.5
GOLDEN = 0.38196601125011
FIRST = LOW + GOLDEN * (HIGH - LOW)
MOST_STEPS = 100

_TOLERANCE = 2.0**-13
_ROOT_EPSILON = 2.0**-26
TERMS = 100  # how far the exact predictor looks back
BLOCK = 4  # values whose contribution to all later predictions is added in one pass
STRIDE = 16  # predictions per step of that pass; the last step runs into spare columns
LOG_TERM = 2.8378  # ln(2 pi) + 1, as the authors' code rounds it
_INVERSES = (0.0, *(1.0 / k for k in range(1, 13)))

# Rows of `side`: the values, centred, with range 1; the mean of the values more than 100 before
# each, 0 where it is left out; ln(100 / k) for the k-th value, 0 where that mean is left out; the
# same for all values; the sum of the weighted values before each.
X, EARLY, REACH, RATIO, PAST = range(5)
# Rows of `terms`: 1 / i, 1 / (i - d), 1 / (i - 2 d), g, 1 / g, the weight a of the mean, 1 / V,
# four zeros and then pi_1 .. pi_100, g x followed by zeros.
INVERSE, NEAR, FAR, G, UNIT, SHARE, PRECISION, PI, H = range(9)


class LikelihoodSample(NamedTuple):
    """A prepared side and its work space."""

    side: Floats
    terms: Floats


@kernel
def sample_for(size: int) -> LikelihoodSample:
    """Allocate a sample for sides of up to `size` values."""
    side = np.zeros((5, size + STRIDE))
    for t in range(TERMS, size):
        side[RATIO, t] = math.log(TERMS / (t + 1.0))
    terms = np.zeros((9, TERMS + BLOCK + STRIDE))
    for i in range(1, TERMS + 1):
        terms[INVERSE, i] = 1.0 / i
    return LikelihoodSample(side, terms)


@kernel
def take(x: Floats, sample: LikelihoodSample) -> int:
    """Store a side in the sample and return its length there; 0 if it is constant."""
    n = x.size if x.size > 2 else 4
    low, high = x[0], x[0]
    for value in x:
        low, high = min(low, value), max(high, value)
    if low == high:
        return 0
    unit = 1.0 if np.isfinite(high - low) else 0.25
    span = high * unit - low * unit
    taken = sample.side[X]
    total = 0.0
    for t in range(n):
        taken[t] = (x[t % x.size] * unit - low * unit) / span
        total += taken[t]
    for t in range(n):
        taken[t] -= total / n
    _early_means(x, sample.side)
    return n


@kernel
def _early_means(x: Floats, side: Floats) -> None:
    """Fill the mean of all values more than 100 before each one.

    The authors' code leaves this mean out where the raw sum is exactly zero.
    """
    raw = 0.0
    total = 0.0
    if x.size > TERMS:
        side[EARLY, TERMS] = side[REACH, TERMS] = 0.0
    for t in range(TERMS + 1, x.size):
        raw += x[t - TERMS - 1]
        total += side[X, t - TERMS - 1]
        used = raw != 0.0
        side[EARLY, t] = total / (t - TERMS) if used else 0.0
        side[REACH, t] = side[RATIO, t] if used else 0.0


@kernel
def likelihood(d: float, n: int, sample: LikelihoodSample) -> float:
    """Return minus the log likelihood of d."""
    short = min(n, TERMS)
    determinant = weights(d, short, sample.terms)
    xx, xa, aa = _head(short, sample.side, sample.terms)
    if n > TERMS:
        more_xx, more_xa, more_aa = _tail(d, n, sample.side, sample.terms)
        xx, xa, aa = xx + more_xx, xa + more_xa, aa + more_aa
    spread = (xx - xa * xa / aa) / n
    return 0.5 * (n * (math.log(spread) + LOG_TERM) + math.log(determinant))


@fused_kernel
def weights(d: float, n: int, s: Floats) -> float:
    """Fill the terms that depend only on d, for n exact predictions; return V_1 * .. * V_n.

    g_i = g_{i-1} (i - d) / i and pi_i = d g_{i-1} / i; in closed form
    a_{i+1} = a_i (i - 2d) / (i - d) and V_{i+1} = V_i i (i - 2d) / (i - d)^2. The divisions come
    first, because they are independent of each other.
    """
    inverse, near, far, pi = s[INVERSE], s[NEAR], s[FAR], s[PI]
    for i in range(1, n + 1):
        near[i] = 1.0 / (i - d)
        far[i] = 1.0 / (i - 2.0 * d)
    variance = math.gamma(1.0 - 2.0 * d) / math.gamma(1.0 - d) ** 2
    determinant = variance
    g = unit = share = 1.0
    precision = 1.0 / variance
    s[G, 0] = s[UNIT, 0] = s[SHARE, 0] = 1.0
    s[PRECISION, 0] = precision
    for i in range(1, n + 1):
        determinant *= variance if i > 1 else 1.0
        pi[BLOCK + i - 1] = d * inverse[i] * g
        g *= (i - d) * inverse[i]
        unit *= i * near[i]
        share *= (i - 2.0 * d) * near[i]
        variance *= (i - 2.0 * d) * i * near[i] * near[i]
        precision *= (i - d) * (i - d) * far[i] * inverse[i]
        s[G, i], s[UNIT, i], s[SHARE, i], s[PRECISION, i] = g, unit, share, precision
    return determinant


@fused_kernel
def _look_back(n: int, side: Floats, s: Floats) -> None:
    """Fill PAST with the sum of pi_{m-i} g_i x_i over i < m, four i at a time."""
    x, past, g, h, pi = side[X], side[PAST], s[G], s[H], s[PI]
    for m in range(n):
        h[m] = g[m] * x[m]
        past[m] = 0.0
    for m in range(n, n + BLOCK):
        h[m] = 0.0
    for i in range(0, n, BLOCK):
        h0, h1, h2, h3 = h[i], h[i + 1], h[i + 2], h[i + 3]
        later = past[i + 1 :]
        for j in range(STRIDE * ((n - i + STRIDE - 2) // STRIDE)):
            later[j] += pi[j + 4] * h0 + pi[j + 3] * h1 + pi[j + 2] * h2 + pi[j + 1] * h3


@fused_kernel
def _head(n: int, side: Floats, s: Floats) -> tuple[float, float, float]:
    """Return the weighted sums over the exactly predicted values."""
    _look_back(n, side, s)
    x, past, unit, share, precision = side[X], side[PAST], s[UNIT], s[SHARE], s[PRECISION]
    xx = xa = aa = 0.0
    for m in range(n):
        rest = x[m] - past[m] * unit[m]
        weighted = rest * precision[m]
        xx += rest * weighted
        xa += share[m] * weighted
        aa += share[m] * share[m] * precision[m]
    return xx, xa, aa


@fused_kernel
def _power(exponent: float) -> float:
    """Return e^exponent for exponents from about -8 to 0, in a form that vectorises."""
    small = exponent / 16.0
    power = 1.0
    for k in range(12, 0, -1):
        power = 1.0 + small * power * _INVERSES[k]
    power *= power
    power *= power
    power *= power
    return power * power


@fused_kernel
def _tail(d: float, n: int, side: Floats, s: Floats) -> tuple[float, float, float]:
    """Return the sums over the values beyond the hundredth, whose variance is taken as 1."""
    x, past = side[X, TERMS:], side[PAST, TERMS:]
    early, reach, pi = side[EARLY, TERMS:], side[REACH, TERMS:], s[PI]
    count = n - TERMS
    for t in range(count):
        past[t] = 0.0
    for j in range(0, TERMS, BLOCK):
        pi0, pi1, pi2, pi3 = pi[j + 4], pi[j + 5], pi[j + 6], pi[j + 7]
        before = side[X, TERMS - j - 4 :]
        for t in range(count):
            past[t] += (
                pi0 * before[t + 3] + pi1 * before[t + 2] + pi2 * before[t + 1] + pi3 * before[t]
            )
    last, scale = s[G, TERMS], s[G, TERMS - 1]
    xx = xa = aa = 0.0
    for t in range(count):
        share = scale * (1.0 - _power(d * reach[t]))
        a = last - share
        rest = x[t] - past[t] - share * early[t]
        xx += rest * rest
        xa += rest * a
        aa += a * a
    return xx, xa, aa


@kernel
def rows(
    values: Floats,
    starts: Ints,
    splits: Ints,
    ends: Ints,
    context: Floats,  # noqa: ARG001 - only other families use it
    out: Floats,
) -> None:
    """Fill the exponents of both sides of every candidate; see `families`."""
    size = 4
    for i in range(out.shape[0]):
        size = max(size, splits[i] - starts[i], ends[i] - splits[i])
    sample = sample_for(size)
    for i in range(out.shape[0]):
        out[i, 0] = hurst(values[starts[i] : splits[i]], sample)
        out[i, 1] = hurst(values[splits[i] : ends[i]], sample)


@kernel
def hurst(x: Floats, sample: LikelihoodSample) -> float:
    """Return the exponent of one side; sides of one or two values are repeated to four."""
    n = take(x, sample)
    return CONSTANT if n == 0 else 0.5 + most_likely(n, sample)


@kernel
def most_likely(n: int, sample: LikelihoodSample) -> float:
    """Return the d that Brent's minimiser stops at."""
    low, high = LOW, HIGH
    best = second = third = FIRST
    best_value = second_value = third_value = likelihood(FIRST, n, sample)
    step = previous = 0.0  # the last step, and the one before it or the interval it divided
    for _ in range(MOST_STEPS):
        tolerance = _ROOT_EPSILON * (abs(best) + 1.0) + _TOLERANCE / 3.0
        middle = 0.5 * (low + high)
        if abs(best - middle) + 0.5 * (high - low) <= 2.0 * tolerance:
            break
        r = (best - second) * (best_value - third_value)
        q = (best - third) * (best_value - second_value)
        p = (best - third) * q - (best - second) * r
        last, interval = step, (high if best < middle else low) - best
        step = parabola_step(p, 2.0 * (q - r), low, high, best, previous, tolerance)
        previous = last
        if np.isnan(step):
            step, previous = GOLDEN * interval, interval
        d = best + (step if abs(step) >= tolerance else np.copysign(tolerance, step))
        value = likelihood(d, n, sample)
        if value <= best_value:
            low, high = (low, best) if d < best else (best, high)
            second, third, second_value, third_value = best, second, best_value, second_value
            best, best_value = d, value
            continue
        low, high = (d, high) if d < best else (low, d)
        if value <= second_value or second == best:
            second, third, second_value, third_value = d, second, value, second_value
        elif value <= third_value or third in (best, second):
            third, third_value = d, value
    return best


@kernel
def parabola_step(
    p: float, q: float, low: float, high: float, best: float, previous: float, tolerance: float
) -> float:
    """Return the step p / q to the minimum of the parabola; NaN if it is not to be trusted."""
    p, q = (-p, q) if q > 0.0 else (p, -q)
    inside = q * (low - best) < p < q * (high - best)
    if abs(previous) <= tolerance or not (abs(p) < abs(0.5 * q * previous) and inside):
        return np.nan
    step = p / q
    u = best + step
    if u - low < 2.0 * tolerance or high - u < 2.0 * tolerance:
        return tolerance if best < 0.5 * (low + high) else -tolerance
    return step


FAMILY = Family(NAMES, rows)
