"""Burg's recursion: autoregressive fits of rising order from forward and backward errors."""

import numpy as np

from barograph.compiled import fused_kernel, kernel
from barograph.series import Floats


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
