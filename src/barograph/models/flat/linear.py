"""A linear model as flat arrays: a weight for each standardised feature, and an intercept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from barograph.errors import ConfigError
from barograph.logistic import expit, logit
from barograph.models.artifact import Arrays, finite_array
from barograph.models.flat.base import Scaling, probabilities, probability_parts
from barograph.series import Floats


@dataclass(frozen=True)
class FlatLinear:
    """Log-odds that are the weighted sum of standardised features."""

    kind: ClassVar[str] = "linear"
    scaling: Scaling
    weights: Floats
    intercept: float

    @classmethod
    def of(cls, model: Any, scaler: Any = None) -> FlatLinear:
        """Flatten a fitted LogisticRegression of two classes, and its StandardScaler if any."""
        scaling = Scaling.of(scaler, model.n_features_in_)
        return cls(scaling, np.array(model.coef_[0]), float(model.intercept_[0]))

    @classmethod
    def constant(cls, share: float, columns: int) -> FlatLinear:
        """Return a model that predicts the same probability for every row."""
        if not 0 < share < 1:
            raise ConfigError(f"a share of {share} has no log-odds: two classes are needed")
        return cls(Scaling.of(None, columns), np.zeros(columns), float(logit(share)))

    def margin(self, matrix: Floats) -> Floats:
        """Return the log-odds."""
        # A matrix product would round a row differently depending on the number of rows.
        margin: Floats = (self.scaling(matrix) * self.weights).sum(axis=1) + self.intercept
        return margin

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the probability of noise and of a real change."""
        return probabilities(self.margin(matrix))

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return the probability of the mean row, and each feature's part of the difference."""
        terms = self.scaling(matrix) * self.weights
        parts = probability_parts(self.intercept, terms, self.predict_proba(matrix)[:, 1])
        return float(expit(self.intercept)), parts

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in an artifact."""
        intercept = np.array([self.intercept])
        return {**self.scaling.arrays(), "weights": self.weights, "intercept": intercept}

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> FlatLinear:
        """Restore the model from an artifact's arrays."""
        weights = finite_array(arrays, "weights", columns)
        [intercept] = finite_array(arrays, "intercept", 1).tolist()
        return cls(Scaling.from_arrays(arrays, columns), weights, intercept)
