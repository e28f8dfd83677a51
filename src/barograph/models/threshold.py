"""Choose the probability from which a candidate is called real, for a stated goal."""

import re

import numpy as np
import numpy.typing as npt

from barograph.errors import ConfigError, NotEnoughDataError
from barograph.series import Floats

GOALS = ("accuracy", "f1", "alarms:N")
BUDGET = re.compile(r"alarms:(\d+(?:\.\d+)?)")
NEVER = float(np.nextafter(1.0, 2.0))  # above every probability: nothing is called real


def choose(truth: npt.ArrayLike, probability: npt.ArrayLike, goal: str = "accuracy") -> float:
    """Return the threshold that serves the goal best on held-out data.

    Candidates lie half-way between neighbouring probabilities, so that no verdict hangs on a last
    digit; among equally good ones the nearest to 0.5 is taken.

    Args:
        truth: 1 where a person said real.
        probability: The model's probability of it.
        goal: `accuracy`, `f1`, or `alarms:N`: as many real changes as possible while at most N of a
            thousand points are called real.
    """
    budget = _budget(goal)
    y = np.asarray(truth, dtype=np.int64)
    p = np.asarray(probability, dtype=np.float64)
    if not y.size:
        raise NotEnoughDataError("a threshold cannot be chosen on no points at all")
    levels = np.unique(p)
    last = 1.0 if budget is None else _above(levels[-1])
    cuts = np.concatenate([[0.0], (levels[1:] + levels[:-1]) / 2, [last]])
    found = _served(y, p, cuts, goal, budget)
    best = np.flatnonzero(found == found.max())
    return float(cuts[best[np.argmin(np.abs(cuts[best] - 0.5))]])


def _budget(goal: str) -> float | None:
    """Return the alarms allowed in a thousand points, or None for another goal."""
    stated = BUDGET.fullmatch(goal)
    if goal not in GOALS[:2] and not stated:
        raise ConfigError(f"threshold goal {goal!r} is unknown; allowed: {GOALS}")
    budget = float(stated[1]) if stated else None
    if budget is not None and budget > 1000:
        raise ConfigError(f"threshold goal {goal!r}: a thousand points give 1000 alarms at most")
    return budget


def _above(level: float) -> float:
    """Return a threshold that the largest probability does not reach."""
    return (float(level) + 1.0) / 2 if level < 1.0 else NEVER


def _served(
    y: npt.NDArray[np.int64], p: Floats, cuts: Floats, goal: str, budget: float | None
) -> Floats:
    """Return the goal's value at every cut, from the counts above it."""
    order = np.argsort(p, kind="stable")
    below = np.searchsorted(p[order], cuts, side="left")
    positives = np.concatenate([[0], np.cumsum(y[order])])
    missed = positives[below]
    hits = positives[-1] - missed
    alarms = y.size - below
    if budget is not None:
        # More hits within the budget; among equal ones fewer alarms.
        within = 1000 * alarms <= budget * y.size
        return np.where(within, hits - alarms / (y.size + 1), -1.0)
    if goal == "f1":
        return np.asarray(2 * hits / np.maximum(1, hits + alarms + missed))
    return np.asarray((hits + below - missed) / y.size)
