"""From log-odds to probabilities, and the parts of the one as parts of the other."""

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from barograph.series import Floats


def linked(margin: npt.ArrayLike) -> Floats:
    """Return the probability of noise and of a real change for each log-odds."""
    real = expit(np.asarray(margin, dtype=np.float64))
    return np.column_stack([1.0 - real, real])


def secant(start: float, terms: Floats, probability: Floats) -> Floats:
    """Turn terms of the log-odds into parts of the probability, in the same proportions.

    Every term is multiplied by the slope of the line between start and end, so that the
    probability at the start and the parts add up to the given one; terms of opposite sign that
    cancel out to nothing keep the slope of the curve itself.
    """
    first = float(expit(start))
    total = terms.sum(axis=1)
    flat = np.abs(total) < 1e-9
    slope = np.where(flat, first * (1 - first), (probability - first) / np.where(flat, 1.0, total))
    parts: Floats = terms * slope[:, None]
    return parts
