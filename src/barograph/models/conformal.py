"""Prediction sets with a guaranteed coverage: noise, real, or unsure.

Split conformal prediction, for each class separately. A point's set contains a class unless the
point conforms to it less than all but a share of 1 - coverage of the held-out points of that class.
If the point is exchangeable with those, its set contains its true class with at least the stated
probability, for real changes and for noise alike, however bad the model is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.models.artifact import Arrays, check_range, finite_array
from barograph.results.series import Flags, Floats
from barograph.runtime.errors import ArtifactError, ConfigError, DataError

UNSURE = -1


@dataclass(frozen=True)
class Conformal:
    """The sorted nonconformity scores of the held-out points of both classes."""

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
