"""What the flat models share: their interface, the standardisation, and the logistic link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from barograph.errors import ArtifactError
from barograph.logistic import expit
from barograph.models.artifact import Arrays, finite_array
from barograph.series import Floats


class Flat(Protocol):
    """A fitted classifier of two classes as arrays."""

    kind: ClassVar[str]

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the probability of noise and of a real change for each row."""

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return a base, and each feature's part; they add up to the probability of real."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in an artifact."""

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> Self:
        """Restore the model from an artifact's arrays.

        Raises:
            ArtifactError: An array is missing or invalid.
        """


@dataclass(frozen=True)
class Scaling:
    """Standardisation with the same rounding as scikit-learn's StandardScaler."""

    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, scaler: Any, columns: int) -> Scaling:
        """Take the numbers of a fitted StandardScaler; None changes nothing."""
        if scaler is None:
            return cls(np.zeros(columns), np.ones(columns))
        return cls(np.array(scaler.mean_), np.array(scaler.scale_))

    def __call__(self, matrix: Floats) -> Floats:
        """Return the standardised rows."""
        return (matrix - self.mean) / self.scale

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in an artifact."""
        return {"mean": self.mean, "scale": self.scale}

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> Scaling:
        """Restore the scaling from an artifact's arrays."""
        mean, scale = finite_array(arrays, "mean", columns), finite_array(arrays, "scale", columns)
        if np.any(scale <= 0):
            raise ArtifactError("array 'scale': every number must be above 0")
        return cls(mean, scale)


def probabilities(margin: npt.ArrayLike) -> Floats:
    """Return the probability of noise and of a real change for each log-odds."""
    real = expit(np.asarray(margin, dtype=np.float64))
    return np.column_stack([1.0 - real, real])


def probability_parts(start: float, terms: Floats, probability: Floats) -> Floats:
    """Convert terms of the log-odds to parts of the probability, in the same proportions.

    The parts of a row and the probability at the start add up to the row's probability. Where the
    terms cancel out, the slope of the logistic curve at the start is used.

    Args:
        start: The log-odds that the terms are added to.
        terms: One row of terms for each candidate.
        probability: The probability of each row.
    """
    first = float(expit(start))
    total = terms.sum(axis=1)
    flat = np.abs(total) < 1e-9
    slope = np.where(flat, first * (1 - first), (probability - first) / np.where(flat, 1.0, total))
    parts: Floats = terms * slope[:, None]
    return parts
