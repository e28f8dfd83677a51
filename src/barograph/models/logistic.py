"""The logistic function and its inverse, equal to SciPy's to the last bit.

The exponential and the logarithm are those of the C library. NumPy's differ from them in the last
bit on some processors, and the released models promise the same probabilities everywhere.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from barograph.results.series import Floats

LARGEST = math.log(np.finfo(np.float64).max)  # the exponential of more is infinite
# Between these, log1p is more precise than the logarithm of the odds.
LOW, HIGH = 0.3, 0.65


def expit(log_odds: npt.ArrayLike) -> Floats:
    """Return the probability of each log-odds, 1 / (1 + exp(-x)).

    Example:
        >>> expit([0.0, 800.0, -800.0]).tolist()
        [0.5, 1.0, 0.0]
    """
    array = np.asarray(log_odds, dtype=np.float64)
    results = [0.0 if -x > LARGEST else 1.0 / (1.0 + math.exp(-x)) for x in array.ravel().tolist()]
    return np.array(results, dtype=np.float64).reshape(array.shape)


def logit(probability: npt.ArrayLike) -> Floats:
    """Return the log-odds of each probability; infinite for 0 and 1.

    Example:
        >>> logit([0.5, 0.9, 1.0]).round(3).tolist()
        [0.0, 2.197, inf]
    """
    array = np.asarray(probability, dtype=np.float64)
    results = [_logit(p) for p in array.ravel().tolist()]
    return np.array(results, dtype=np.float64).reshape(array.shape)


def _logit(p: float) -> float:
    if not 0.0 < p < 1.0:
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    if p < LOW or p > HIGH:
        return math.log(p / (1.0 - p))
    away = 2.0 * (p - 0.5)
    return math.log1p(away) - math.log1p(-away)
