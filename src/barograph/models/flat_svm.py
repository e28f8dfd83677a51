"""A support vector machine as flat arrays: support vectors, their weights, and Platt's sigmoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from barograph.compiled import kernel
from barograph.errors import ArtifactError, ConfigError
from barograph.models.checks import Arrays, numbers
from barograph.models.linked import linked
from barograph.models.scaling import Scaling
from barograph.series import Floats


@dataclass(frozen=True)
class FlatSvm:
    """The radial kernel's decision, and the two numbers that make a probability of it."""

    kind: ClassVar[str] = "svm"
    scaling: Scaling
    support: Floats  # (columns, vectors): side by side, so that one instruction serves several
    weights: Floats
    gamma: float
    intercept: float
    slope: float  # of Platt's sigmoid, 1 / (1 + exp(slope * decision + offset))
    offset: float

    @classmethod
    def of(cls, calibrated: Any, scaler: Any = None) -> FlatSvm:
        """Flatten CalibratedClassifierCV(SVC(), method="sigmoid", ensemble=False), fitted."""
        if len(calibrated.calibrated_classifiers_) != 1:
            raise ConfigError("an SVM is served with one calibration: fit with ensemble=False")
        [fitted] = calibrated.calibrated_classifiers_
        svc, [sigmoid] = fitted.estimator, fitted.calibrators
        if svc.kernel != "rbf":
            raise ConfigError(f"an SVM is served with the kernel 'rbf', not {svc.kernel!r}")
        return cls(
            scaling=Scaling.of(scaler, svc.n_features_in_),
            support=np.ascontiguousarray(svc.support_vectors_.T),
            weights=np.array(svc.dual_coef_[0]),
            gamma=float(svc._gamma),  # noqa: SLF001 - what "scale" and "auto" come to
            intercept=float(svc.intercept_[0]),
            slope=float(sigmoid.a_),
            offset=float(sigmoid.b_),
        )

    def decision(self, matrix: Floats) -> Floats:
        """Return the signed distance to the border, scikit-learn's decision function."""
        out = np.empty(matrix.shape[0])
        rows = np.ascontiguousarray(self.scaling(matrix))
        decide(rows, self.support, self.weights, self.gamma, out)
        out += self.intercept
        return out

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the probability of noise and of a real change."""
        return linked(-(self.slope * self.decision(matrix) + self.offset))

    def parts(self, matrix: Floats) -> tuple[float, Floats]:  # noqa: ARG002 - one signature for all
        """Refuse: a radial kernel has no path and no terms to divide among the features."""
        raise ConfigError(
            "a support vector machine gives no reasons: its kernel does not divide among the "
            "features; use a forest, boosted trees or a linear model"
        )

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what an artifact keeps of it."""
        border = np.array([self.gamma, self.intercept, self.slope, self.offset])
        return {
            **self.scaling.arrays(),
            "support": self.support,
            "weights": self.weights,
            "border": border,
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> FlatSvm:
        """Take arrays from an artifact, or say what is wrong with them."""
        support = numbers(arrays, "support", columns, -1)
        weights = numbers(arrays, "weights", support.shape[1])
        gamma, intercept, slope, offset = numbers(arrays, "border", 4).tolist()
        if gamma <= 0:
            raise ArtifactError(f"array 'border': the kernel's gamma is {gamma}; must be above 0")
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
