"""Make scores mean what they say: of the points called 0.8, eight in ten are real.

Both ways are fitted on held-out scores: Platt's sigmoid over the log-odds, which needs few points,
and isotonic regression, which needs many and assumes nothing but the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from barograph.errors import ArtifactError, ConfigError, NotEnoughDataError
from barograph.models.checks import Arrays, between, numbers
from barograph.series import Floats

EDGE = 1e-6  # probabilities of 0 and 1 have no log-odds


@dataclass(frozen=True)
class Sigmoid:
    """1 / (1 + exp(-(slope * log-odds + offset)))."""

    slope: float
    offset: float

    @classmethod
    def fit(cls, truth: npt.NDArray[np.int64], score: Floats) -> Sigmoid:
        """Fit both numbers to the targets of Platt 1999, which keep a few points from certainty."""
        from scipy.optimize import minimize

        real = int(truth.sum())
        targets = np.where(truth == 1, (real + 1) / (real + 2), 1 / (truth.size - real + 2))
        odds = _log_odds(score)

        def loss(numbers: Floats) -> tuple[float, Floats]:
            margin = numbers[0] * odds + numbers[1]
            gap = expit(margin) - targets
            value = np.mean(np.logaddexp(0.0, margin) - targets * margin)
            return float(value), np.array([np.mean(gap * odds), np.mean(gap)])

        # A slope below 0 would turn the order of the scores round.
        found = minimize(
            loss, [1.0, 0.0], jac=True, method="L-BFGS-B", bounds=[(0, 1e3), (-1e3, 1e3)]
        )
        return cls(float(found.x[0]), float(found.x[1]))

    def __call__(self, score: Floats) -> Floats:
        """Return the calibrated probability of each score."""
        calibrated: Floats = expit(self.slope * _log_odds(score) + self.offset)
        return calibrated

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what an artifact keeps of it."""
        return {"sigmoid": np.array([self.slope, self.offset])}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Sigmoid:
        """Take arrays from an artifact, or say what is wrong with them."""
        slope, offset = numbers(arrays, "sigmoid", 2).tolist()
        if slope < 0:
            raise ArtifactError(f"array 'sigmoid': the slope is {slope}; it must not be below 0")
        return cls(slope, offset)


@dataclass(frozen=True)
class Isotonic:
    """Straight lines between scores and the shares of real points there; never falling."""

    scores: Floats
    shares: Floats

    @classmethod
    def fit(cls, truth: npt.NDArray[np.int64], score: Floats) -> Isotonic:
        """Fit the rising steps that are nearest to the verdicts."""
        from sklearn.isotonic import IsotonicRegression

        found = IsotonicRegression(y_min=0.0, y_max=1.0).fit(score, truth.astype(np.float64))
        return cls(np.asarray(found.X_thresholds_), np.asarray(found.y_thresholds_))

    def __call__(self, score: Floats) -> Floats:
        """Return the calibrated probability of each score."""
        return np.interp(score, self.scores, self.shares)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what an artifact keeps of it."""
        return {"isotonic_scores": self.scores, "isotonic_shares": self.shares}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Isotonic:
        """Take arrays from an artifact, or say what is wrong with them."""
        scores = numbers(arrays, "isotonic_scores", -1)
        shares = numbers(arrays, "isotonic_shares", scores.size)
        between("isotonic_shares", shares)
        if not scores.size or np.any(np.diff(scores) <= 0) or np.any(np.diff(shares) < 0):
            raise ArtifactError("arrays 'isotonic_scores' and 'isotonic_shares' must rise")
        return cls(scores, shares)


Calibration = Sigmoid | Isotonic
METHODS: Mapping[str, type[Sigmoid | Isotonic]] = {"sigmoid": Sigmoid, "isotonic": Isotonic}


def calibrate(truth: npt.ArrayLike, score: npt.ArrayLike, method: str = "sigmoid") -> Calibration:
    """Fit a calibration on held-out scores, the uncalibrated probabilities of a real change."""
    if method not in METHODS:
        raise ConfigError(f"calibration {method!r} is unknown; allowed: {sorted(METHODS)}")
    y, s = np.asarray(truth, dtype=np.int64), np.asarray(score, dtype=np.float64)
    if np.unique(y).size < 2:
        raise NotEnoughDataError(f"{y.size} held-out points of one class cannot calibrate a model")
    return METHODS[method].fit(y, s)


def method_of(calibration: Calibration | None) -> str | None:
    """Return the name that an artifact's header gives a calibration."""
    return next((name for name, kind in METHODS.items() if type(calibration) is kind), None)


def from_arrays(method: object, arrays: Arrays) -> Calibration | None:
    """Take the calibration that a header names from an artifact's arrays."""
    if method is None:
        return None
    if method not in METHODS:
        raise ArtifactError(f"the calibration is {method!r}; known: {sorted(METHODS)}")
    return METHODS[str(method)].from_arrays(arrays)


def _log_odds(score: Floats) -> Floats:
    odds: Floats = logit(np.clip(score, EDGE, 1 - EDGE))
    return odds
