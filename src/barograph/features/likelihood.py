"""The approximate likelihood of ARFIMA(0, d, 0) (Haslett and Raftery 1989).

Each value is predicted from the ones before it: exactly from up to 99 of them, then from the last
100 with a correction for the mean of all that came earlier. The likelihood does not depend on
level and scale, so a side is first brought to range 1 about its mean: magnitudes do no harm.
"""

import math
from typing import NamedTuple

import numpy as np

from barograph.compiled import fused_kernel, kernel
from barograph.series import Floats

TERMS = 100  # how far the exact predictor looks back
LOG_TERM = 2.8378  # ln(2 pi) + 1, as the authors' code rounds it


class Sample(NamedTuple):
    """One side made ready, and work space; k below counts values from 1, arrays from 0."""

    x: Floats  # the side, centred, range 1
    early: Floats  # mean of the values more than 100 before x[t]; NaN where there are none
    ratio: Floats  # ln(100 / k) of x[t], k = t + 1
    inverse: Floats  # 1 / i
    g: Floats
    pi: Floats  # pi_1 .. pi_100, backwards
    h: Floats


@kernel
def sample_for(size: int) -> Sample:
    """Allocate for sides of up to `size` values."""
    ratio = np.zeros(size)
    for t in range(TERMS, size):
        ratio[t] = math.log(TERMS / (t + 1.0))
    inverse = np.zeros(TERMS + 1)
    for i in range(1, TERMS + 1):
        inverse[i] = 1.0 / i
    table = np.zeros((3, TERMS + 1))
    return Sample(np.empty(size), np.empty(size), ratio, inverse, table[0], table[1], table[2])


@kernel
def take(x: Floats, sample: Sample) -> int:
    """Bring a side into the sample and return its length there; 0 if it is constant."""
    n = x.size if x.size > 2 else 4
    low, high = x[0], x[0]
    for value in x:
        low, high = min(low, value), max(high, value)
    if low == high:
        return 0
    unit = 1.0 if np.isfinite(high - low) else 0.25
    span = high * unit - low * unit
    total = 0.0
    for t in range(n):
        sample.x[t] = (x[t % x.size] * unit - low * unit) / span
        total += sample.x[t]
    for t in range(n):
        sample.x[t] -= total / n
    _early_means(x, sample)
    return n


@kernel
def _early_means(x: Floats, sample: Sample) -> None:
    """Fill the mean of all values more than 100 before each one.

    The authors' code skips it where the raw sum is exactly zero.
    """
    raw = 0.0
    total = 0.0
    for t in range(TERMS + 1, x.size):
        raw += x[t - TERMS - 1]
        total += sample.x[t - TERMS - 1]
        sample.early[t] = total / (t - TERMS) if raw != 0.0 else np.nan


@kernel
def likelihood(d: float, n: int, sample: Sample) -> float:
    """Return minus the log likelihood of d."""
    short = min(n, TERMS)
    weights(d, sample)
    head, determinant = _head(d, short, sample)
    tail = _tail(d, n, sample)
    xx, xa, aa = head[0] + tail[0], head[1] + tail[1], head[2] + tail[2]
    spread = (xx - xa * xa / aa) / n
    return 0.5 * (n * (math.log(spread) + LOG_TERM) + math.log(determinant))


@fused_kernel
def weights(d: float, sample: Sample) -> None:
    """Fill g_i = g_{i-1} (i - d) / i, and pi_j = d g_{j-1} / j backwards."""
    g, pi, inverse = sample.g, sample.pi, sample.inverse
    g[0] = 1.0
    for i in range(1, TERMS + 1):
        g[i] = g[i - 1] * (1.0 - d * inverse[i])
        pi[TERMS - i] = d * g[i - 1] * inverse[i]


@fused_kernel
def _head(d: float, n: int, sample: Sample) -> tuple[tuple[float, float, float], float]:
    """Return the weighted sums over the exactly predicted values, and their determinant."""
    x, g, pi, h = sample.x, sample.g, sample.pi, sample.h
    variance = math.gamma(1.0 - 2.0 * d) / math.gamma(1.0 - d) ** 2
    determinant = variance
    a = 1.0
    h[0] = x[0]
    xx, xa, aa = x[0] * x[0] / variance, x[0] / variance, 1.0 / variance
    for m in range(1, n):
        total = 0.0
        for i in range(m):
            total += pi[TERMS - m + i] * h[i]
        h[m] = g[m] * x[m]
        away = 1.0 / (m - d)
        variance *= (m - 2.0 * d) * m * away * away
        determinant *= variance
        a *= (m - 2.0 * d) * away
        rest = x[m] - total / g[m]
        weight = 1.0 / variance
        xx += rest * rest * weight
        xa += rest * a * weight
        aa += a * a * weight
    return (xx, xa, aa), determinant


@fused_kernel
def _tail(d: float, n: int, sample: Sample) -> tuple[float, float, float]:
    """Return the sums over the values beyond the hundredth, whose variance is taken as 1."""
    x, pi = sample.x, sample.pi
    last, before = sample.g[TERMS], sample.g[TERMS - 1]
    xx = xa = aa = 0.0
    for t in range(TERMS, n):
        total = 0.0
        for j in range(TERMS):
            total += pi[j] * x[t - TERMS + j]
        a = last
        early = sample.early[t] if t > TERMS else np.nan
        if not np.isnan(early):
            share = before * (1.0 - math.exp(d * sample.ratio[t]))
            total += share * early
            a -= share
        rest = x[t] - total
        xx += rest * rest
        xa += rest * a
        aa += a * a
    return xx, xa, aa
