"""Choose the probability from which a candidate is called real, for a stated goal."""

import numpy as np
import numpy.typing as npt

from barograph.errors import ConfigError, NotEnoughDataError
from barograph.series import Floats

GOALS = ("accuracy", "f1")


def choose(truth: npt.ArrayLike, probability: npt.ArrayLike, goal: str = "accuracy") -> float:
    """Return the threshold that serves the goal best on held-out data.

    Candidates lie half-way between neighbouring probabilities, so that no verdict hangs on a last
    digit; among equally good ones the nearest to 0.5 is taken.
    """
    if goal not in GOALS:
        raise ConfigError(f"threshold goal {goal!r} is unknown; allowed: {GOALS}")
    y = np.asarray(truth, dtype=np.int64)
    p = np.asarray(probability, dtype=np.float64)
    if not y.size:
        raise NotEnoughDataError("a threshold cannot be chosen on no points at all")
    levels = np.unique(p)
    cuts = np.concatenate([[0.0], (levels[1:] + levels[:-1]) / 2, [1.0]])
    found = _served(y, p, cuts, goal)
    best = np.flatnonzero(found == found.max())
    return float(cuts[best[np.argmin(np.abs(cuts[best] - 0.5))]])


def _served(y: npt.NDArray[np.int64], p: Floats, cuts: Floats, goal: str) -> Floats:
    """Return the goal's value at every cut, from the counts above it."""
    order = np.argsort(p, kind="stable")
    below = np.searchsorted(p[order], cuts, side="left")
    positives = np.concatenate([[0], np.cumsum(y[order])])
    missed = positives[below]
    hits = positives[-1] - missed
    false_alarms = (y.size - below) - hits
    if goal == "f1":
        return np.asarray(2 * hits / np.maximum(1, 2 * hits + false_alarms + missed))
    return np.asarray((hits + below - missed) / y.size)
