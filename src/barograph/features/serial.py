"""Serial correlation: the mean of the squared autocorrelations, Box and Pierce's statistic / (n l).

With c_k = sum (x_t - m)(x_{t+k} - m) / n and r_k = c_k / c_0 clipped to [-1, 1], the mean of
r_1^2 .. r_l^2; 1 on a constant side, where r_k is not defined.
"""

import numpy as np

from barograph.features.sums import Sums, mean
from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

LAGS = 10  # on sides of more than 10 values; 2 on shorter ones
_SAFE_LOW, _SAFE_HIGH = 1e-280, 1e280


@kernel
def lag_products(x: Floats, products: Floats, work: Floats) -> None:
    """Fill entry k with the sum of d_t d_{t-k}, d the distance to the first value.

    Every sum runs from left to right. The distances are stored backwards in `work`, followed by
    zeros, so that those of all lags are adjacent and are added together.
    """
    n = x.size
    for t in range(n):
        work[n - 1 - t] = x[t] - x[0]
    work[n : n + LAGS] = 0.0
    products[:] = 0.0
    for j in range(n - 1, -1, -1):
        d = work[np.uint64(j)]
        for k in range(LAGS + 1):
            products[np.uint64(k)] += d * work[np.uint64(j + k)]


@kernel
def serial_correlation(x: Floats, lags: int, sums: Sums, products: Floats) -> float:
    """Return the mean of the squared autocorrelations from the sums of lagged products.

    The mean is rounded as in the authors' code, which matters on nearly constant sides.
    """
    shift = mean(sums) - sums.first
    scale = products[0] - 2.0 * shift * sums.distance + sums.size * shift * shift
    if not _SAFE_LOW < scale < _SAFE_HIGH:
        return _directly(x, lags, mean(sums))
    head = 0.0
    tail = 0.0
    total = 0.0
    for k in range(1, lags + 1):
        head += x[k - 1] - sums.first
        tail += x[x.size - k] - sums.first
        both = (sums.distance - head) + (sums.distance - tail)
        covariance = products[k] - shift * both + (sums.size - k) * shift * shift
        total += min(max(covariance / scale, -1.0), 1.0) ** 2
    return total / lags


@kernel
def _directly(x: Floats, lags: int, centre: float) -> float:
    """Return the same by the plain formula, for constants and where squares vanish or overflow."""
    total = 0.0
    scale = _covariance(x, 0, centre)
    for k in range(1, lags + 1):
        ratio = _covariance(x, k, centre) / scale
        if np.isnan(ratio):
            return 1.0
        total += min(max(ratio, -1.0), 1.0) ** 2
    return total / lags


@kernel
def _covariance(x: Floats, lag: int, centre: float) -> float:
    total = 0.0
    for t in range(x.size - lag):
        total += (x[t] - centre) * (x[t + lag] - centre)
    return total / x.size
