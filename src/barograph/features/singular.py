"""Whether the covariance matrix of an autoregressive fit is singular to working precision."""

import numpy as np

from barograph.compiled import kernel
from barograph.series import Floats

# The authors' code does not solve systems with a smaller reciprocal condition.
LIMIT = 2.0**-52


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
