"""Fitted classifiers as flat arrays: what the service and the batch path predict with."""

from typing import Any

import numpy as np

from barograph.errors import ArtifactError, ConfigError
from barograph.models.flat.base import Flat
from barograph.models.flat.boosted import FlatBoosted
from barograph.models.flat.forest import FlatForest
from barograph.models.flat.linear import FlatLinear
from barograph.models.flat.stacked import FlatStacked
from barograph.models.flat.svm import FlatSvm
from barograph.models.flat.voting import FlatVoting

__all__ = [
    "KINDS",
    "Flat",
    "FlatBoosted",
    "FlatForest",
    "FlatLinear",
    "FlatStacked",
    "FlatSvm",
    "FlatVoting",
    "flatten",
]

KINDS: dict[str, type[Flat]] = {
    flat.kind: flat
    for flat in (FlatForest, FlatBoosted, FlatLinear, FlatStacked, FlatSvm, FlatVoting)
}


def kind_named(name: object) -> type[Flat]:
    """Return the class for the kind in an artifact's header."""
    if not isinstance(name, str) or name not in KINDS:
        raise ArtifactError(f"unknown kind of model {name!r}; known kinds: {sorted(KINDS)}")
    return KINDS[name]


def flatten(fitted: Any) -> Flat:
    """Convert a fitted classifier of the catalogue to flat arrays.

    Raises:
        ConfigError: The classifier has no flat form, or its classes are not 0 and 1.
    """
    # Imported here because serving a model needs no scikit-learn, and starts twice as fast.
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    scaler, model = _unwrap(fitted)
    if not np.array_equal(model.classes_, [0, 1]):
        raise ConfigError(f"the classes must be 0 and 1, not {model.classes_}")
    if isinstance(model, (RandomForestClassifier, ExtraTreesClassifier)) and scaler is None:
        return FlatForest.of(model)
    if isinstance(model, CalibratedClassifierCV):
        return FlatSvm.of(model, scaler)
    if isinstance(model, LogisticRegression):
        return FlatLinear.of(model, scaler)
    if isinstance(model, DummyClassifier) and model.strategy == "prior":
        return FlatLinear.constant(float(model.class_prior_[1]), model.n_features_in_)
    if type(model).__name__ == "VotingTriage" and scaler is None:
        return FlatVoting.of(model)
    if type(model).__name__ == "StackedTriage" and scaler is None:
        return FlatStacked.of(model)
    if type(model).__name__ == "XGBClassifier" and scaler is None:  # importing xgboost is slow
        return FlatBoosted.of(model)
    raise ConfigError(
        f"a {type(model).__name__} has no flat form; kinds that have one: {sorted(KINDS)}"
    )


def _unwrap(fitted: Any) -> tuple[Any, Any]:
    """Return the scaler of a pipeline, or None, and its last step."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    if not isinstance(fitted, Pipeline):
        return None, fitted
    *before, model = (step for _, step in fitted.steps)
    if any(not isinstance(step, StandardScaler) for step in before) or len(before) > 1:
        raise ConfigError(f"only one StandardScaler may precede the classifier, not {before}")
    return (before[0] if before else None), model
