"""The kinds of classifiers in a model file, and how a fitted classifier becomes one of them."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from barograph.models.artifact import Arrays
from barograph.models.trees import Boosted, Forest
from barograph.results.series import Floats
from barograph.runtime.errors import ArtifactError, ConfigError

# Kinds that earlier versions wrote as arrays of their own.
FORMER = ("linear", "stacked", "svm", "voting")


class FittedClassifier(Protocol):
    """A fitted classifier of two classes, as a model uses it."""

    kind: ClassVar[str]

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the probability of noise and of a real change for each row."""

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return a base, and each feature's part; they add up to the probability of real.

        Raises:
            ConfigError: The classifier is not a sum over the features.
        """

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in a model file."""

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> Self:
        """Restore the classifier from the arrays of a file.

        Raises:
            ArtifactError: An array is missing or invalid.
        """


def from_fitted(fitted: Any) -> FittedClassifier:
    """Return a fitted classifier of the catalogue in the form that models use and save.

    Raises:
        ConfigError: A model file cannot hold the classifier, or its classes are not 0 and 1.
    """
    if not np.array_equal(fitted.classes_, [0, 1]):
        raise ConfigError(f"the classes must be 0 and 1, not {fitted.classes_}")
    steps = [step for _, step in fitted.steps] if hasattr(fitted, "steps") else [fitted]
    name = type(steps[-1]).__name__  # importing the classes would be slow
    if len(steps) == 1 and name in ("RandomForestClassifier", "ExtraTreesClassifier"):
        return Forest.of(steps[0])
    if len(steps) == 1 and name == "XGBClassifier":
        return Boosted.of(steps[0])
    from barograph.models.estimator import Estimator

    return Estimator.of(fitted)


def from_arrays(kind: object, arrays: Arrays, columns: int) -> FittedClassifier:
    """Restore a classifier of a kind from the arrays of a file.

    Raises:
        ArtifactError: The kind is unknown, or an array is missing or invalid.
    """
    if kind == Forest.kind:
        return Forest.from_arrays(arrays, columns)
    if kind == Boosted.kind:
        return Boosted.from_arrays(arrays, columns)
    if kind in FORMER:
        raise ArtifactError(
            f"this version does not read models of the kind {kind!r}, which an earlier version "
            "saved; train the model again with this version"
        )
    from barograph.models.estimator import Estimator

    if kind != Estimator.kind:
        known = sorted((Forest.kind, Boosted.kind, Estimator.kind))
        raise ArtifactError(f"unknown kind of model {kind!r}; known kinds: {known}")
    return Estimator.from_arrays(arrays, columns)
