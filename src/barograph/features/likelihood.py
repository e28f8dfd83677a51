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
BLOCK = 4  # values whose share in all later predictions is added at once
STRIDE = 16  # predictions it is added to at once; the loop runs on into spare room
LOG_TERM = 2.8378  # ln(2 pi) + 1, as the authors' code rounds it


class Sample(NamedTuple):
    """One side made ready, and work space; k below counts values from 1, arrays from 0."""

    x: Floats  # the side, centred, range 1
    early: Floats  # mean of the values more than 100 before x[t]; NaN where there are none
    ratio: Floats  # ln(100 / k) of x[t], k = t + 1
    inverse: Floats  # 1 / i
    near: Floats  # 1 / (i - d)
    far: Floats  # 1 / (i - 2 d)
    g: Floats
    unit: Floats  # 1 / g
    share: Floats  # a, the weight of the mean
    precision: Floats  # 1 / V
    pi: Floats  # pi_1 .. pi_100, backwards
    forward: Floats  # four zeros, then pi_1 .. pi_100
    h: Floats  # g x, and zeros behind it
    past: Floats  # what the values before each one say of it, times g


@kernel
def sample_for(size: int) -> Sample:
    """Allocate for sides of up to `size` values."""
    ratio = np.zeros(size)
    for t in range(TERMS, size):
        ratio[t] = math.log(TERMS / (t + 1.0))
    space = np.zeros((11, TERMS + BLOCK + STRIDE))
    for i in range(1, TERMS + 1):
        space[0, i] = 1.0 / i
    return Sample(
        np.empty(size), np.empty(size), ratio, space[0], space[1], space[2], space[3], space[4],
        space[5], space[6], space[7], space[8], space[9], space[10],
    )  # fmt: skip


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
    determinant = weights(d, short, sample)
    head = _head(short, sample)
    tail = _tail(d, n, sample)
    xx, xa, aa = head[0] + tail[0], head[1] + tail[1], head[2] + tail[2]
    spread = (xx - xa * xa / aa) / n
    return 0.5 * (n * (math.log(spread) + LOG_TERM) + math.log(determinant))


@fused_kernel
def weights(d: float, n: int, s: Sample) -> float:
    """Fill what depends on d alone, for n exact predictions; return the product of V_1 .. V_n.

    g_i = g_{i-1} (i - d) / i and pi_i = d g_{i-1} / i; in closed form
    a_{i+1} = a_i (i - 2d) / (i - d) and V_{i+1} = V_i i (i - 2d) / (i - d)^2. The divisions come
    first, since those go in parallel.
    """
    for i in range(1, n + 1):
        s.near[i] = 1.0 / (i - d)
        s.far[i] = 1.0 / (i - 2.0 * d)
    variance = math.gamma(1.0 - 2.0 * d) / math.gamma(1.0 - d) ** 2
    determinant = variance
    g = unit = share = 1.0
    precision = 1.0 / variance
    s.g[0] = s.unit[0] = s.share[0] = 1.0
    s.precision[0] = precision
    for i in range(1, n + 1):
        determinant *= variance if i > 1 else 1.0
        s.pi[TERMS - i] = s.forward[BLOCK + i - 1] = d * s.inverse[i] * g
        g *= (i - d) * s.inverse[i]
        unit *= i * s.near[i]
        share *= (i - 2.0 * d) * s.near[i]
        variance *= (i - 2.0 * d) * i * s.near[i] * s.near[i]
        precision *= (i - d) * (i - d) * s.far[i] * s.inverse[i]
        s.g[i], s.unit[i], s.share[i], s.precision[i] = g, unit, share, precision
    return determinant


@fused_kernel
def _look_back(n: int, sample: Sample) -> None:
    """Fill past[m] with the sum of pi_{m-i} g_i x_i over i < m, four i at a time."""
    x, g, h, past, forward = sample.x, sample.g, sample.h, sample.past, sample.forward
    for m in range(n):
        h[m] = g[m] * x[m]
        past[m] = 0.0
    for m in range(n, n + BLOCK):
        h[m] = 0.0
    for i in range(0, n, BLOCK):
        h0, h1, h2, h3 = h[i], h[i + 1], h[i + 2], h[i + 3]
        for j in range(1, 1 + STRIDE * ((n - i + STRIDE - 2) // STRIDE)):
            past[i + j] += (
                forward[j + 3] * h0 + forward[j + 2] * h1 + forward[j + 1] * h2 + forward[j] * h3
            )


@fused_kernel
def _head(n: int, s: Sample) -> tuple[float, float, float]:
    """Return the weighted sums over the exactly predicted values."""
    _look_back(n, s)
    xx = xa = aa = 0.0
    for m in range(n):
        rest = s.x[m] - s.past[m] * s.unit[m]
        weighted = rest * s.precision[m]
        xx += rest * weighted
        xa += s.share[m] * weighted
        aa += s.share[m] * s.share[m] * s.precision[m]
    return xx, xa, aa


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
