"""A support vector machine as flat arrays: support vectors, weights, and Platt's sigmoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from barograph.compiled import kernel
from barograph.errors import ArtifactError, ConfigError
from barograph.models.artifact import Arrays, finite_array
from barograph.models.flat.base import Scaling, probabilities
from barograph.series import Floats


@dataclass(frozen=True)
class FlatSvm:
    """The decision function of an SVM with a radial kernel, calibrated by a sigmoid."""

    kind: ClassVar[str] = "svm"
    scaling: Scaling
    support: Floats  # (columns, vectors), so that the inner loop is vectorised
    weights: Floats
    gamma: float
    intercept: float
    slope: float  # of Platt's sigmoid, 1 / (1 + exp(slope * decision + offset))
    offset: float

    @classmethod
    def of(cls, calibrated: Any, scaler: Any = None) -> FlatSvm:
        """Flatten a fitted CalibratedClassifierCV(SVC(), method="sigmoid", ensemble=False)."""
        if len(calibrated.calibrated_classifiers_) != 1:
            raise ConfigError("an SVM must have a single calibration: fit it with ensemble=False")
        [fitted] = calibrated.calibrated_classifiers_
        svc, [sigmoid] = fitted.estimator, fitted.calibrators
        if svc.kernel != "rbf":
            raise ConfigError(f"an SVM must have the kernel 'rbf', not {svc.kernel!r}")
        return cls(
            scaling=Scaling.of(scaler, svc.n_features_in_),
            support=np.ascontiguousarray(svc.support_vectors_.T),
            weights=np.array(svc.dual_coef_[0]),
            gamma=float(svc._gamma),  # noqa: SLF001 - the value of "scale" or "auto"
            intercept=float(svc.intercept_[0]),
            slope=float(sigmoid.a_),
            offset=float(sigmoid.b_),
        )

    def decision(self, matrix: Floats) -> Floats:
        """Return scikit-learn's decision function."""
        out = np.empty(matrix.shape[0])
        rows = np.ascontiguousarray(self.scaling(matrix))
        decide(rows, self.support, self.weights, self.gamma, out)
        out += self.intercept
        return out

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the probability of noise and of a real change."""
        return probabilities(-(self.slope * self.decision(matrix) + self.offset))

    def parts(self, matrix: Floats) -> tuple[float, Floats]:  # noqa: ARG002 - the signature of Flat
        """Raise a ConfigError: a radial kernel is not a sum over the features."""
        raise ConfigError(
            "a support vector machine cannot give reasons for its probabilities; "
            "use a forest, boosted trees or a linear model"
        )

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in an artifact."""
        border = np.array([self.gamma, self.intercept, self.slope, self.offset])
        return {
            **self.scaling.arrays(),
            "support": self.support,
            "weights": self.weights,
            "border": border,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> FlatSvm:
        """Restore the model from an artifact's arrays."""
        support = finite_array(arrays, "support", columns, -1)
        weights = finite_array(arrays, "weights", support.shape[1])
        gamma, intercept, slope, offset = finite_array(arrays, "border", 4).tolist()
        if gamma <= 0:
            raise ArtifactError(
                f"array 'border': the kernel's gamma is {gamma}; it must be above 0"
            )
        scaling = Scaling.from_arrays(arrays, columns)
        return cls(scaling, support, weights, gamma, intercept, slope, offset)


@kernel
def decide(rows: Floats, support: Floats, weights: Floats, gamma: float, out: Floats) -> None:
    """Sum the weighted kernel values of each row."""
    columns, vectors = support.shape
    squares = np.empty(vectors)
    for row in range(rows.shape[0]):
        squares[:] = 0.0
        for column in range(columns):
            value = rows[row, column]
            for vector in range(vectors):
                difference = value - support[column, vector]
                squares[vector] += difference * difference
        total = 0.0
        for vector in range(vectors):
            total += weights[vector] * np.exp(-gamma * squares[vector])
        out[row] = total
