"""Autoregressive fits of rising order by Burg's recursion, and whether one is singular.

The recursion works on forward and backward errors. A fit is singular if its covariance matrix is,
to working precision.
"""

import numpy as np

from barograph.results.series import Floats
from barograph.runtime.compiled import fused_kernel, kernel

# The authors' code does not solve systems with a smaller reciprocal condition.
LIMIT = 2.0**-52


@fused_kernel
def burg(centred: Floats, order: int, u: Floats, v: Floats, k: Floats, errors: Floats) -> None:
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


@kernel
def burg_strict(
    centred: Floats, order: int, u: Floats, v: Floats, k: Floats, errors: Floats
) -> None:
    """Do the same with strict sums from left to right and every product rounded.

    On sides that are almost perfectly predictable, the error variances consist of rounding errors,
    and only the authors' order of operations leads to their numbers.
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
        for t in range(p, n):
            product += v[t] * u[t - 1]
            square += v[t] * v[t] + u[t - 1] * u[t - 1]
        reflection = 2.0 * product / square
        for t in range(n - 1, p - 1, -1):
            before = u[t - 1]
            u[t] = before - reflection * v[t]
            v[t] -= reflection * before
        k[p] = reflection
        errors[p] = errors[p - 1] * (1.0 - reflection * reflection)


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
    """Return whether the order x order Toeplitz matrix of biased autocovariances is singular.

    Cybenko's bound on the inverse, from the reflections of the matrix itself, is sufficient for
    nearly every side; the condition number in the 1-norm decides the others.
    """
    c = np.empty(order)
    for k in range(order):
        total = 0.0
        for t in range(centred.size - k):
            total += centred[t] * centred[t + k]
        c[k] = total / centred.size
    return _bound(c) < order * LIMIT and reciprocal_condition(c) < LIMIT


@kernel
def _bound(c: Floats) -> float:
    """Return a lower bound of the reciprocal condition, up to a factor of the order."""
    a = np.zeros(c.size)
    old = np.zeros(c.size)
    error = c[0]
    bound = 1.0
    for p in range(1, c.size):
        total = c[p]
        for j in range(1, p):
            total -= a[j] * c[p - j]
        k = total / error
        if not abs(k) < 1.0:
            return 0.0
        for j in range(1, p):
            old[j] = a[j]
        for j in range(1, p):
            a[j] = old[j] - k * old[p - j]
        a[p] = k
        error *= 1.0 - k * k
        bound *= (1.0 - abs(k)) / (1.0 + abs(k))
    return bound


@kernel
def reciprocal_condition(c: Floats) -> float:
    """Return 1 / (|T| |T^-1|) in the 1-norm, by Gauss-Jordan elimination with pivots."""
    n = c.size
    m = np.zeros((n, 2 * n))
    for i in range(n):
        for j in range(n):
            m[i, j] = c[abs(i - j)]
        m[i, n + i] = 1.0
    norm = _norm(m, 0)
    for p in range(n):
        if not _eliminate(m, p):
            return 0.0
    return 1.0 / (norm * _norm(m, n))


@kernel
def _eliminate(m: Floats, p: int) -> bool:
    """Clear column p except for a 1 in row p; return False if no pivot is left."""
    best = p
    for i in range(p + 1, m.shape[0]):
        if abs(m[i, p]) > abs(m[best, p]):
            best = i
    pivot = m[best, p]
    if pivot == 0.0:
        return False
    for j in range(m.shape[1]):
        m[p, j], m[best, j] = m[best, j], m[p, j]
    for j in range(m.shape[1]):
        m[p, j] /= pivot
    for i in range(m.shape[0]):
        factor = m[i, p]
        if i != p:
            for j in range(m.shape[1]):
                m[i, j] -= factor * m[p, j]
    return True


@kernel
def _norm(m: Floats, first: int) -> float:
    """Return the 1-norm of the square block of columns from `first` on."""
    largest = 0.0
    for j in range(first, first + m.shape[0]):
        total = 0.0
        for i in range(m.shape[0]):
            total += abs(m[i, j])
        largest = max(largest, total)
    return largest
