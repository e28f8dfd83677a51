"""Held-out scores of a model: calibration of its probabilities, threshold, and prediction sets.

Of the candidates with a calibrated probability of 0.8, eight in ten should be real. Platt's sigmoid
of the log-odds needs few points. Isotonic regression needs many, and assumes only that the order of
the scores is right.

The logistic function and its inverse equal SciPy's to the last bit: the exponential and the
logarithm are those of the C library. NumPy's differ from them in the last bit on some processors,
and the released models promise the same probabilities everywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.models.artifact import NEVER, Arrays, check_range, finite_array
from barograph.results.series import Flags, Floats
from barograph.runtime.errors import ArtifactError, ConfigError, DataError, NotEnoughDataError
from barograph.runtime.extras import needed

UNSURE = -1  # the answer where a prediction set contains both classes or none
EDGE = 1e-6  # probabilities of 0 and 1 have no log-odds
LARGEST = math.log(np.finfo(np.float64).max)  # the exponential of more is infinite
# Between these, log1p is more precise than the logarithm of the odds.
LOW, HIGH = 0.3, 0.65
GOALS = ("accuracy", "f1", "alarms:N")
BUDGET = re.compile(r"alarms:(\d+(?:\.\d+)?)")
ABOVE_HALF = float(np.nextafter(0.5, 1.0))  # "greater than 0.5" for a comparison with >=


def expit(log_odds: npt.ArrayLike) -> Floats:
    """Return the probability of each log-odds, 1 / (1 + exp(-x)).

    Example:
        >>> expit([0.0, 800.0, -800.0]).tolist()
        [0.5, 1.0, 0.0]
    """
    return _each(log_odds, lambda x: 0.0 if -x > LARGEST else 1.0 / (1.0 + math.exp(-x)))


def logit(probability: npt.ArrayLike) -> Floats:
    """Return the log-odds of each probability; infinite for 0 and 1.

    Example:
        >>> logit([0.5, 0.9, 1.0]).round(3).tolist()
        [0.0, 2.197, inf]
    """
    return _each(probability, _logit)


def _logit(p: float) -> float:
    if not 0.0 < p < 1.0:
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    if p < LOW or p > HIGH:
        return math.log(p / (1.0 - p))
    away = 2.0 * (p - 0.5)
    return math.log1p(away) - math.log1p(-away)


def _each(values: npt.ArrayLike, function: Callable[[float], float]) -> Floats:
    """Return the results of a function of Python's numbers, as an array."""
    array = np.asarray(values, dtype=np.float64)
    results = [function(x) for x in array.ravel().tolist()]
    return np.array(results, dtype=np.float64).reshape(array.shape)


@dataclass(frozen=True)
class Sigmoid:
    """1 / (1 + exp(-(slope * log-odds + offset)))."""

    slope: float
    offset: float

    @classmethod
    def fit(cls, truth: npt.NDArray[np.int64], score: Floats) -> Sigmoid:
        """Fit slope and offset to the smoothed targets of Platt 1999."""
        with needed("the calibration of a model"):
            from scipy.optimize import minimize

        real = int(truth.sum())
        targets = np.where(truth == 1, (real + 1) / (real + 2), 1 / (truth.size - real + 2))
        odds = _log_odds(score)

        def loss(line: Floats) -> tuple[float, Floats]:
            margin = line[0] * odds + line[1]
            gap = expit(margin) - targets
            value = np.mean(np.logaddexp(0.0, margin) - targets * margin)
            return float(value), np.array([np.mean(gap * odds), np.mean(gap)])

        # A slope below 0 would reverse the order of the scores.
        result = minimize(
            loss, [1.0, 0.0], jac=True, method="L-BFGS-B", bounds=[(0, 1e3), (-1e3, 1e3)]
        )
        return cls(float(result.x[0]), float(result.x[1]))

    def __call__(self, score: Floats) -> Floats:
        """Return the calibrated probability of each score."""
        calibrated: Floats = expit(self.slope * _log_odds(score) + self.offset)
        return calibrated

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in an artifact."""
        return {"sigmoid": np.array([self.slope, self.offset])}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Sigmoid:
        """Restore the calibration from an artifact's arrays."""
        slope, offset = finite_array(arrays, "sigmoid", 2).tolist()
        if slope < 0:
            raise ArtifactError(f"array 'sigmoid': the slope is {slope}; it must not be below 0")
        return cls(slope, offset)


@dataclass(frozen=True)
class Isotonic:
    """Linear interpolation of a non-decreasing share of real points."""

    scores: Floats
    shares: Floats

    @classmethod
    def fit(cls, truth: npt.NDArray[np.int64], score: Floats) -> Isotonic:
        """Fit the non-decreasing function that is closest to the verdicts."""
        with needed("the calibration of a model"):
            from sklearn.isotonic import IsotonicRegression

        fitted = IsotonicRegression(y_min=0.0, y_max=1.0).fit(score, truth.astype(np.float64))
        return cls(np.asarray(fitted.X_thresholds_), np.asarray(fitted.y_thresholds_))

    def __call__(self, score: Floats) -> Floats:
        """Return the calibrated probability of each score."""
        return np.interp(score, self.scores, self.shares)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in an artifact."""
        return {"isotonic_scores": self.scores, "isotonic_shares": self.shares}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Isotonic:
        """Restore the calibration from an artifact's arrays."""
        scores = finite_array(arrays, "isotonic_scores", -1)
        shares = finite_array(arrays, "isotonic_shares", scores.size)
        check_range("isotonic_shares", shares)
        if not scores.size or np.any(np.diff(scores) <= 0) or np.any(np.diff(shares) < 0):
            raise ArtifactError("arrays 'isotonic_scores' and 'isotonic_shares' must rise")
        return cls(scores, shares)


Calibration = Sigmoid | Isotonic
METHODS: Mapping[str, type[Sigmoid | Isotonic]] = {"sigmoid": Sigmoid, "isotonic": Isotonic}


def calibrate(truth: npt.ArrayLike, score: npt.ArrayLike, method: str = "sigmoid") -> Calibration:
    """Fit a calibration.

    Args:
        truth: 1 for the points that a person called real, else 0.
        score: The uncalibrated probability of a real change at each, by a model that was not
            fitted to these points.
        method: `sigmoid` or `isotonic`.
    """
    if method not in METHODS:
        raise ConfigError(f"unknown calibration {method!r}; allowed: {sorted(METHODS)}")
    y, s = np.asarray(truth, dtype=np.int64), np.asarray(score, dtype=np.float64)
    if np.unique(y).size < 2:
        raise NotEnoughDataError(
            f"all {y.size} held-out points are of one class; calibration needs both"
        )
    return METHODS[method].fit(y, s)


def method_of(calibration: Calibration | None) -> str | None:
    """Return the name of a calibration in an artifact's header."""
    return next((name for name, kind in METHODS.items() if type(calibration) is kind), None)


def from_arrays(method: object, arrays: Arrays) -> Calibration | None:
    """Restore the calibration that an artifact's header names; None for no calibration."""
    if method is None:
        return None
    if not isinstance(method, str) or method not in METHODS:
        raise ArtifactError(f"unknown calibration {method!r}; known: {sorted(METHODS)}")
    return METHODS[method].from_arrays(arrays)


def _log_odds(score: Floats) -> Floats:
    odds: Floats = logit(np.clip(score, EDGE, 1 - EDGE))
    return odds


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


@dataclass(frozen=True)
class Conformal:
    """The sorted nonconformity scores of the held-out points of both classes.

    Split conformal prediction, for each class separately. A point's set contains a class unless the
    point conforms to it less than all but a share of 1 - coverage of the held-out points of that
    class. If the point is exchangeable with those, its set contains its true class with at least
    the stated probability, for real changes and for noise alike, however bad the model is.
    """

    noise: Floats  # the probability of real at points that are noise
    real: Floats  # one minus the probability of real at real changes

    @classmethod
    def fit(cls, truth: npt.ArrayLike, score: npt.ArrayLike) -> Conformal:
        """Store the scores of held-out points.

        Args:
            truth: 1 for the points that a person called real, else 0.
            score: The uncalibrated probability of a real change at each, by a model that was not
                fitted to these points.
        """
        y, s = np.asarray(truth, dtype=np.int64), np.asarray(score, dtype=np.float64)
        if y.shape != s.shape or not np.all((s >= 0) & (s <= 1)):
            raise DataError(
                f"expected a probability from 0 to 1 for each verdict, got {s.shape} probabilities "
                f"and {y.shape} verdicts"
            )
        return cls(np.sort(s[y == 0]), np.sort(1.0 - s[y == 1]))

    def sets(self, score: npt.ArrayLike, coverage: float) -> Flags:
        """Return whether the set of each point contains noise, and whether it contains real."""
        if not 0 < coverage < 1:
            raise ConfigError(f"the coverage must be between 0 and 1, not {coverage}")
        s = np.asarray(score, dtype=np.float64)
        noise = s <= _limit(self.noise, coverage)
        real = 1.0 - s <= _limit(self.real, coverage)
        return np.column_stack([noise, real])

    def predict(self, score: npt.ArrayLike, coverage: float) -> npt.NDArray[np.int64]:
        """Return 0 or 1 where the set contains only that, UNSURE where it contains both or none."""
        noise, real = self.sets(score, coverage).T
        return np.where(noise == real, UNSURE, real.astype(np.int64))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in an artifact."""
        return {"conformal_noise": self.noise, "conformal_real": self.real}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Conformal:
        """Restore the scores from an artifact's arrays."""
        noise = finite_array(arrays, "conformal_noise", -1)
        real = finite_array(arrays, "conformal_real", -1)
        for name, scores in (("conformal_noise", noise), ("conformal_real", real)):
            check_range(name, scores)
            if np.any(np.diff(scores) < 0):
                raise ArtifactError(f"array {name!r} must be sorted")
        return cls(noise, real)


def _limit(scores: Floats, coverage: float) -> float:
    """Return the ceil((n + 1) coverage)-th smallest score; infinity if there are too few."""
    rank = int(np.ceil((scores.size + 1) * coverage))
    return float(scores[rank - 1]) if rank <= scores.size else np.inf
