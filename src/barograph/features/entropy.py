"""Spectral entropy: how evenly the spectrum of a Burg autoregressive fit is spread.

The order is chosen by AIC among 0 .. min(n - 1, 10 log10 n). 1 means that nothing can be predicted.
It is also the defined value for constants, for sides of one or two values, where the best order is
not unique, and where the covariance matrix of the fit is singular, to working precision. Burg's
recursion works on forward and backward errors.
"""

import math
from typing import NamedTuple

import numpy as np

from barograph.features.sums import compensated_mean
from barograph.results.series import Floats
from barograph.runtime.compiled import fused_kernel, kernel

# Below this share of unpredictable variance, the result depends on the order of operations.
DELICATE = 1e-4
_SPARE = 13  # columns beyond the longest side, for repeated sides and for the lags
_SMALLEST_NORMAL = 2.3e-308
# The authors' code does not solve systems with a smaller reciprocal condition.
LIMIT = 2.0**-52


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
    count = (n + 1) // 2 + 1
    density = space.u[:count]
    if delicate:
        power_directly(space.a, best, density)
    else:
        cosine, sine = space.cosine[:count], space.sine[:count]
        turn(cosine, sine)
        power(space.a, best, cosine, sine, density, space.v[:count])
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


def _reflections(
    centred: Floats, order: int, u: Floats, v: Floats, k: Floats, errors: Floats
) -> None:
    """Fill the reflections k[1..order] and the error variances errors[0..order].

    `u` and `v` are work space of the side's length. v[t] is the forward error at t; the backward
    error at t - 1 of the same step is stored at u[t - p], so that no step moves the array.
    """
    n = centred.size
    square = 0.0
    for t in range(n):
        u[t] = v[t] = centred[n - 1 - t]
        square += centred[t] * centred[t]
    errors[0] = square / n
    for p in range(1, order + 1):
        product = 0.0
        square = 0.0
        for j in range(n - p):
            product += v[j + p] * u[j]
            square += v[j + p] * v[j + p] + u[j] * u[j]
        reflection = 2.0 * product / square
        for j in range(n - p):
            before = u[j]
            u[j] -= reflection * v[j + p]
            v[j + p] -= reflection * before
        k[p] = reflection
        errors[p] = errors[p - 1] * (1.0 - reflection * reflection)


burg = fused_kernel(_reflections)
# Strict sums from left to right, every product rounded: on sides that are almost perfectly
# predictable, the error variances consist of rounding errors, and only the authors' order of
# operations leads to their numbers.
burg_strict = kernel(_reflections)


@kernel
def best_order(errors: Floats, n: int) -> int:
    """Return the order of the smallest AIC; -1 where it is not unique or not a number."""
    best, least, ties = 0, np.inf, 0
    for p in range(errors.size):
        if not errors[p] > 0.0:
            return -1
        aic = n * np.log(errors[p]) + 2.0 * p + 2.0
        if aic < least:
            best, least, ties = p, aic, 0
        elif aic == least:
            ties += 1
    return -1 if ties else best


@kernel
def coefficients(k: Floats, order: int, a: Floats) -> None:
    """Fill a[1..order] with the predictor's coefficients from the reflections (Levinson)."""
    for p in range(1, order + 1):
        a[p] = k[p]
        for j in range(1, p // 2 + 1):
            low, high = a[j], a[p - j]
            a[j] = low - k[p] * high
            if j != p - j:
                a[p - j] = high - k[p] * low


@kernel
def is_singular(centred: Floats, order: int) -> bool:
    """Return whether the order x order Toeplitz matrix of biased autocovariances is singular."""
    c = np.empty(order)
    for k in range(order):
        total = 0.0
        for t in range(centred.size - k):
            total += centred[t] * centred[t + k]
        c[k] = total / centred.size
    return reciprocal_condition(c) < LIMIT


@kernel
def reciprocal_condition(c: Floats) -> float:
    """Return 1 / (|T| |T^-1|) in the 1-norm, by Gauss-Jordan elimination with pivots."""
    n = c.size
    m = np.eye(n, 2 * n, n)
    for i in range(n):
        for j in range(n):
            m[i, j] = c[abs(i - j)]
    norm = _norm(m[:, :n])
    for p in range(n):
        best = p + np.argmax(np.abs(m[p:, p]))
        row = m[best] / m[best, p]
        if m[best, p] == 0.0:
            return 0.0
        m[best] = m[p]
        for i in range(n):
            m[i] -= m[i, p] * row
        m[p] = row
    return 1.0 / (norm * _norm(m[:, n:]))


@kernel
def _norm(m: Floats) -> float:
    """Return the 1-norm of a matrix."""
    largest = 0.0
    for j in range(m.shape[1]):
        largest = max(largest, np.abs(m[:, j]).sum())
    return largest
