"""Spectral entropy: how evenly the spectrum of a Burg autoregressive fit is spread.

The order is chosen by AIC among 0 .. min(n - 1, 10 log10 n). 1 means that nothing can be predicted.
It is also the defined value for constants, for sides of one or two values, where the best order is
not unique, and where the covariance matrix of the fit is singular.
"""

import math
from typing import NamedTuple

import numpy as np

from barograph.compiled import kernel
from barograph.features.burg import best_order, burg, burg_strict, coefficients
from barograph.features.singular import is_singular
from barograph.features.spectrum import entropy_of, power, power_directly, turn
from barograph.features.sums import compensated_mean
from barograph.series import Floats

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
