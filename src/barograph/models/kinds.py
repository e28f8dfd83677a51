"""The kinds of models that are served from flat arrays, and how a fitted one becomes flat."""

from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from barograph.errors import ArtifactError, ConfigError
from barograph.models.checks import Arrays
from barograph.models.flat import FlatForest
from barograph.models.flat_boosted import FlatBoosted
from barograph.models.flat_linear import FlatLinear
from barograph.models.flat_mean import FlatMean
from barograph.models.flat_svm import FlatSvm
from barograph.series import Floats


class Flat(Protocol):
    """What every kind answers."""

    kind: ClassVar[str]

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the probability of noise and of a real change for each row."""

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return a base, and each feature's part: both add up to the probability of real."""

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what an artifact keeps of it."""

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> Self:
        """Take arrays from an artifact, or say what is wrong with them."""


KINDS: dict[str, type[Flat]] = {
    flat.kind: flat for flat in (FlatForest, FlatBoosted, FlatMean, FlatLinear, FlatSvm)
}


def kind_named(name: object) -> type[Flat]:
    """Return the kind that an artifact's header names."""
    if name not in KINDS:
        raise ArtifactError(f"the model's kind is {name!r}; known kinds: {sorted(KINDS)}")
    return KINDS[str(name)]


def flattened(fitted: Any) -> Flat:
    """Flatten a fitted classifier of the catalogue: classes 0 and 1."""
    # Here alone: what is only served needs no scikit-learn, and starts in half the time.
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, VotingClassifier
    from sklearn.linear_model import LogisticRegression

    scaler, model = _unwrapped(fitted)
    if not np.array_equal(model.classes_, [0, 1]):
        raise ConfigError(f"served are models of the classes 0 and 1, not {model.classes_}")
    if isinstance(model, (RandomForestClassifier, ExtraTreesClassifier)) and scaler is None:
        return FlatForest.of(model)
    if isinstance(model, CalibratedClassifierCV):
        return FlatSvm.of(model, scaler)
    if isinstance(model, LogisticRegression):
        return FlatLinear.of(model, scaler)
    if isinstance(model, DummyClassifier) and model.strategy == "prior":
        return FlatLinear.constant(float(model.class_prior_[1]), model.n_features_in_)
    if isinstance(model, VotingClassifier) and scaler is None:
        return FlatMean.of(model)
    if type(model).__name__ == "XGBClassifier" and scaler is None:  # by name: importing it is slow
        return FlatBoosted.of(model)
    raise ConfigError(f"a {type(model).__name__} cannot be served; known kinds: {sorted(KINDS)}")


def _unwrapped(fitted: Any) -> tuple[Any, Any]:
    """Return the scaler, or None, and the last step."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    if not isinstance(fitted, Pipeline):
        return None, fitted
    *before, model = (step for _, step in fitted.steps)
    if any(not isinstance(step, StandardScaler) for step in before) or len(before) > 1:
        raise ConfigError(f"served behind one StandardScaler or nothing, not {before}")
    return (before[0] if before else None), model
