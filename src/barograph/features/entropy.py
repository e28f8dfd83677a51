"""Spectral entropy: how evenly the spectrum of a Burg autoregressive fit is spread.

The order is chosen by AIC among 0 .. min(n - 1, 10 log10 n). 1 means that nothing can be predicted.
It is also the defined value for constants, for sides of one or two values, where the best order is
not unique, and where the covariance matrix of the fit is singular.
"""

import math
from typing import NamedTuple

import numpy as np

from barograph.features.burg import best_order, burg, burg_strict, coefficients, is_singular
from barograph.features.sums import compensated_mean
from barograph.results.series import Floats
from barograph.runtime.compiled import fused_kernel, kernel

# Below this share of unpredictable variance, the result depends on the order of operations.
DELICATE = 1e-4
_SPARE = 13  # columns beyond the longest side, for repeated sides and for the lags
_SMALLEST_NORMAL = 2.3e-308


class Space(NamedTuple):
    """Work space for sides up to a given length."""

    centred: Floats
    u: Floats
    v: Floats
    k: Floats
    errors: Floats
    a: Floats
    cosine: Floats
    sine: Floats


@kernel
def space_for(size: int) -> Space:
    """Allocate the work space for sides of up to `size` values."""
    t = np.empty((8, size + _SPARE))
    return Space(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7])


@kernel
def highest_order(n: int) -> int:
    """Return the highest order that is tried for n values."""
    return min(n - 1, math.floor(10.0 * math.log10(n)))


@kernel
def spectral_entropy(x: Floats, centre: float, space: Space) -> float:
    """Return the entropy of a side of three values or more; `centre` is its mean."""
    n = x.size
    order = highest_order(n)
    centred = space.centred[:n]
    errors = space.errors[: order + 1]
    for t in range(n):
        centred[t] = x[t] - centre
    burg(centred, order, space.u, space.v, space.k, errors)
    if not _SMALLEST_NORMAL <= errors[0] < np.inf:
        return 1.0
    delicate = not errors[order] >= DELICATE * errors[0]
    if delicate:
        centre = compensated_mean(x)
        for t in range(n):
            centred[t] = x[t] - centre
        burg_strict(centred, order, space.u, space.v, space.k, errors)
    best = best_order(errors, n)
    if best <= 0 or (delicate and is_singular(centred, best)):
        return 1.0
    coefficients(space.k, best, space.a)
    return _entropy_of_fit(n, best, delicate, space)


@kernel
def _entropy_of_fit(n: int, order: int, delicate: bool, space: Space) -> float:
    count = (n + 1) // 2 + 1
    density = space.u[:count]
    if delicate:
        power_directly(space.a, order, density)
    else:
        cosine, sine = space.cosine[:count], space.sine[:count]
        turn(cosine, sine)
        power(space.a, order, cosine, sine, density, space.v[:count])
    return entropy_of(density, n)


@fused_kernel
def turn(cosine: Floats, sine: Floats) -> None:
    """Fill cos and sin of pi j / (size - 1), doubling the filled part in every pass."""
    size = cosine.size
    cosine[0], sine[0] = 1.0, 0.0
    done = 1
    while done < size:
        angle = math.pi * done / (size - 1)
        c, s = math.cos(angle), math.sin(angle)
        for j in range(min(done, size - done)):
            cosine[done + j] = cosine[j] * c - sine[j] * s
            sine[done + j] = sine[j] * c + cosine[j] * s
        done *= 2


@fused_kernel
def power(
    a: Floats, order: int, cosine: Floats, sine: Floats, real: Floats, imaginary: Floats
) -> None:
    """Fill `real` with 1 / |1 - sum a_k z^k|^2 at all frequencies together (Horner)."""
    for j in range(cosine.size):
        real[j] = imaginary[j] = 0.0
    for k in range(order, 0, -1):
        for j in range(cosine.size):
            x = real[j] + a[k]
            y = imaginary[j]
            real[j] = x * cosine[j] - y * sine[j]
            imaginary[j] = x * sine[j] + y * cosine[j]
    for j in range(cosine.size):
        real[j] = 1.0 / ((1.0 - real[j]) ** 2 + imaginary[j] ** 2)


@kernel
def power_directly(a: Floats, order: int, density: Floats) -> None:
    """Fill the same with one cosine and one sine per frequency and coefficient.

    Where a pole is on the unit circle up to rounding, a recurrence would move the peak.
    """
    for j in range(density.size):
        frequency = 0.5 / (density.size - 1) * j
        c = s = 0.0
        for k in range(1, order + 1):
            angle = 2.0 * math.pi * frequency * k
            c += math.cos(angle) * a[k]
            s += math.sin(angle) * a[k]
        density[j] = 1.0 / ((1.0 - c) ** 2 + s * s)


@kernel
def entropy_of(density: Floats, n: int) -> float:
    """Return the entropy of the two-sided density in units of ln n, at most 1.

    One part in a thousand of a flat density is mixed in, as in the authors' code.
    """
    total = 0.0
    for j in range(1, density.size):
        total += density[j]
    total = 2.0 * total + density[0]
    size = 2 * density.size - 1
    entropy = 0.0
    for j in range(density.size):
        g = 0.999 * (density[j] / total) + 0.001 / size
        entropy -= (1.0 if j == 0 else 2.0) * g * np.log(g)
    entropy /= np.log(n)
    return 1.0 if np.isnan(entropy) else min(1.0, entropy)
