"""Standardisation as two rows of numbers, rounded as scikit-learn rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.errors import ArtifactError
from barograph.models.checks import Arrays, numbers
from barograph.series import Floats


@dataclass(frozen=True)
class Scaling:
    """Subtract the mean of each column, then divide by its standard deviation."""

    mean: Floats
    scale: Floats

    @classmethod
    def of(cls, scaler: Any, columns: int) -> Scaling:
        """Take the numbers of a fitted StandardScaler; without one nothing is changed."""
        if scaler is None:
            return cls(np.zeros(columns), np.ones(columns))
        return cls(np.array(scaler.mean_), np.array(scaler.scale_))

    def __call__(self, matrix: Floats) -> Floats:
        """Return the standardised rows."""
        return (matrix - self.mean) / self.scale

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what an artifact keeps of it."""
        return {"mean": self.mean, "scale": self.scale}

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> Scaling:
        """Take arrays from an artifact, or say what is wrong with them."""
        mean, scale = numbers(arrays, "mean", columns), numbers(arrays, "scale", columns)
        if np.any(scale <= 0):
            raise ArtifactError("array 'scale': every number must be above 0")
        return cls(mean, scale)
