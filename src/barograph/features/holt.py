"""Holt's alpha and beta of one side: how quickly level and trend follow the values.

Leznik et al. 2022, Table 1, with the estimates of their statistics package: an exponential
smoothing model with additive errors and trend, damped or not. Nine or more values are fitted in
state-space form (`holt_ets`), fewer in smoothing form (`holt_winters`). In smoothing form beta
applies to the trend alone and is often at its bound 1.
"""

import math

import numpy as np

from barograph.features import holt_ets
from barograph.features.holt_ets import fit_ets
from barograph.features.holt_winters import fit_holt_winters
from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

SHORT = 8  # sides up to this length are fitted in smoothing form
SINGLE_VALUE = (0.2, 0.0)  # one value has no trend

# Squares, and in smoothing form squares of squares, must stay finite: larger values are divided by
# a power of two before the fit.
LARGE = 2.0**480
LARGE_SHORT = 2.0**200


@kernel
def fit_side(values: Floats, workspace: Floats) -> tuple[float, float]:
    """Return alpha and beta of one side.

    A single value has alpha 0.2 and beta 0. Every smoothing fits equal values perfectly, so the
    result is the start of the search: (0.2, 0.02), or (0.20006, 0.020096) for nine or more values.
    """
    if values.size == 1:
        return SINGLE_VALUE
    if values.size <= SHORT:
        return fit_holt_winters(reduced(values, LARGE_SHORT))
    if np.all(values == values[0]):
        return holt_ets.START_ALPHA, holt_ets.START_BETA
    return fit_ets(reduced(values, LARGE), workspace)


@kernel
def reduced(values: Floats, limit: float) -> Floats:
    """Return the values, divided by a power of two if the largest is beyond the limit."""
    largest = np.max(np.abs(values))
    if largest <= limit:
        return values
    return values * math.ldexp(1.0, -math.frexp(largest / limit)[1])
