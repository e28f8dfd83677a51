"""Prediction sets with a stated coverage, so that "not sure, ask a person" is an answer.

Split conformal prediction, one class at a time: an answer is kept in the set unless the point is
stranger for it than all but a share of 1 - coverage of the held-out points of that class. If the
new point is exchangeable with those, its true class is in the set with at least that probability,
for real changes and for noise alike, whatever the model is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.errors import ArtifactError, ConfigError, DataError
from barograph.models.checks import Arrays, between, numbers
from barograph.series import Floats

UNSURE = -1


@dataclass(frozen=True)
class Conformal:
    """The held-out scores of both classes, from the least strange to the strangest."""

    noise: Floats  # the probability of real at points that are noise, rising
    real: Floats  # one minus it at real changes, rising

    @classmethod
    def fit(cls, truth: npt.ArrayLike, score: npt.ArrayLike) -> Conformal:
        """Keep held-out points that took no part in fitting the model."""
        y, s = np.asarray(truth, dtype=np.int64), np.asarray(score, dtype=np.float64)
        if y.shape != s.shape or not np.all((s >= 0) & (s <= 1)):
            raise DataError(f"{y.shape} verdicts and {s.shape} probabilities, 0 to 1, are no pairs")
        return cls(np.sort(s[y == 0]), np.sort(1.0 - s[y == 1]))

    def sets(self, score: npt.ArrayLike, coverage: float) -> npt.NDArray[np.bool_]:
        """Return for each point whether noise, and whether real, is in its set."""
        if not 0 < coverage < 1:
            raise ConfigError(f"the coverage is {coverage}; allowed is what lies between 0 and 1")
        s = np.asarray(score, dtype=np.float64)
        noise = s <= _limit(self.noise, coverage)
        real = 1.0 - s <= _limit(self.real, coverage)
        return np.column_stack([noise, real])

    def answers(self, score: npt.ArrayLike, coverage: float) -> npt.NDArray[np.int64]:
        """Return 0 or 1 where the set holds it alone, and UNSURE where it holds both or none."""
        noise, real = self.sets(score, coverage).T
        return np.where(noise == real, UNSURE, real.astype(np.int64))

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what an artifact keeps of it."""
        return {"conformal_noise": self.noise, "conformal_real": self.real}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Conformal:
        """Take arrays from an artifact, or say what is wrong with them."""
        noise = numbers(arrays, "conformal_noise", -1)
        real = numbers(arrays, "conformal_real", -1)
        for name, found in (("conformal_noise", noise), ("conformal_real", real)):
            between(name, found)
            if np.any(np.diff(found) < 0):
                raise ArtifactError(f"array {name!r} must rise")
        return cls(noise, real)


def _limit(strangeness: Floats, coverage: float) -> float:
    """Return the ceil((n + 1) coverage)-th smallest; with too few points nothing is excluded."""
    rank = int(np.ceil((strangeness.size + 1) * coverage))
    return float(strangeness[rank - 1]) if rank <= strangeness.size else np.inf
