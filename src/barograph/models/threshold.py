"""The threshold: the probability from which a candidate is called real."""

import re

import numpy as np
import numpy.typing as npt

from barograph.models.artifact import NEVER
from barograph.models.calibration import Calibration, calibrate
from barograph.results.series import Floats
from barograph.runtime.errors import ConfigError, NotEnoughDataError

GOALS = ("accuracy", "f1", "alarms:N")
BUDGET = re.compile(r"alarms:(\d+(?:\.\d+)?)")
ABOVE_HALF = float(np.nextafter(0.5, 1.0))  # "greater than 0.5" for a comparison with >=


def choose_threshold(
    truth: npt.ArrayLike, probability: npt.ArrayLike, goal: str = "accuracy"
) -> float:
    """Return the threshold that is best for a goal on held-out data.

    Thresholds half-way between neighbouring probabilities are compared, so that no verdict depends
    on a last digit. Of several equally good ones, the closest to 0.5 is returned.

    Args:
        truth: 1 for the points that a person called real, else 0.
        probability: The probability of a real change at each.
        goal: `accuracy`, `f1`, or `alarms:N`: the most real changes while at most N of a thousand
            points are called real.
    """
    budget = budget_of(goal)
    y = np.asarray(truth, dtype=np.int64)
    p = np.asarray(probability, dtype=np.float64)
    if not y.size:
        raise NotEnoughDataError("a threshold cannot be chosen without points")
    levels = np.unique(p)
    last = 1.0 if budget is None else _above(levels[-1])
    cuts = np.concatenate([[0.0], (levels[1:] + levels[:-1]) / 2, [last]])
    scores = _scores(y, p, cuts, goal, budget)
    best = np.flatnonzero(scores == scores.max())
    return float(cuts[best[np.argmin(np.abs(cuts[best] - 0.5))]])


def decision_rule(
    truth: npt.ArrayLike,
    score: Floats,
    goal: str,
    method: str | None,
    threshold: float | None = None,
) -> tuple[Calibration | None, float]:
    """Return the calibration of held-out scores and the threshold; see `TriageModel.of`."""
    calibration = None if method is None else calibrate(truth, score, method)
    if threshold is None:
        threshold = choose_threshold(truth, calibration(score) if calibration else score, goal)
    return calibration, threshold


def budget_of(goal: str) -> float | None:
    """Return the number of alarms allowed in a thousand points, or None for another goal."""
    stated = BUDGET.fullmatch(goal)
    if goal not in GOALS[:2] and not stated:
        raise ConfigError(f"unknown threshold goal {goal!r}; allowed: {GOALS}")
    budget = float(stated[1]) if stated else None
    if budget is not None and budget > 1000:
        raise ConfigError(f"threshold goal {goal!r}: N must be at most 1000")
    return budget


def _above(level: float) -> float:
    """Return a threshold above the largest probability."""
    return (float(level) + 1.0) / 2 if level < 1.0 else NEVER


def _scores(
    y: npt.NDArray[np.int64], p: Floats, cuts: Floats, goal: str, budget: float | None
) -> Floats:
    """Return the value of the goal at every threshold."""
    order = np.argsort(p, kind="stable")
    below = np.searchsorted(p[order], cuts, side="left")
    positives = np.concatenate([[0], np.cumsum(y[order])])
    missed = positives[below]
    hits = positives[-1] - missed
    alarms = y.size - below
    if budget is not None:
        # The most hits within the budget, then the fewest alarms.
        within = 1000 * alarms <= budget * y.size
        return np.where(within, hits - alarms / (y.size + 1), -1.0)
    if goal == "f1":
        return np.asarray(2 * hits / np.maximum(1, hits + alarms + missed))
    return np.asarray((hits + below - missed) / y.size)
