"""A linear model as two rows of numbers: a weight for each feature and one for none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from barograph.errors import ConfigError
from barograph.models.checks import Arrays, numbers
from barograph.models.linked import linked, secant
from barograph.models.scaling import Scaling
from barograph.series import Floats


@dataclass(frozen=True)
class FlatLinear:
    """Standardised features, weighted and added up to log-odds."""

    kind: ClassVar[str] = "linear"
    scaling: Scaling
    weights: Floats
    intercept: float

    @classmethod
    def of(cls, model: Any, scaler: Any = None) -> FlatLinear:
        """Flatten a fitted LogisticRegression of two classes, behind a StandardScaler or not."""
        scaling = Scaling.of(scaler, model.n_features_in_)
        return cls(scaling, np.array(model.coef_[0]), float(model.intercept_[0]))

    @classmethod
    def constant(cls, share: float, columns: int) -> FlatLinear:
        """Return the model that always says the same."""
        if not 0 < share < 1:
            raise ConfigError(f"a share of {share} has no log-odds: two classes are needed")
        return cls(Scaling.of(None, columns), np.zeros(columns), float(logit(share)))

    def margin(self, matrix: Floats) -> Floats:
        """Return the log-odds."""
        # Not a matrix product: that rounds a row by how many others stand beside it.
        found: Floats = (self.scaling(matrix) * self.weights).sum(axis=1) + self.intercept
        return found

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the probability of noise and of a real change."""
        return linked(self.margin(matrix))

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return the probability of the mean row, and each term's part of the way from there."""
        terms = self.scaling(matrix) * self.weights
        parts = secant(self.intercept, terms, self.predict_proba(matrix)[:, 1])
        return float(expit(self.intercept)), parts

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what an artifact keeps of it."""
        intercept = np.array([self.intercept])
        return {**self.scaling.arrays(), "weights": self.weights, "intercept": intercept}

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> FlatLinear:
        """Take arrays from an artifact, or say what is wrong with them."""
        weights, intercept = numbers(arrays, "weights", columns), numbers(arrays, "intercept", 1)
        return cls(Scaling.from_arrays(arrays, columns), weights, float(intercept[0]))
