"""The classifiers by name: seeded, unfitted scikit-learn pipelines that run on one core.

Every pipeline ends in the step `model`.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from barograph.results.series import Floats
from barograph.runtime.errors import ConfigError
from barograph.runtime.extras import needed

# Each classifier, and the function that makes it from a seed and a number of trees: a name in a
# module of this package, which is imported when the classifier is first used.
CLASSIFIERS: Mapping[str, str] = {
    "random_forest": "classifiers.random_forest",
    "svm": "classifiers.svm",
    "xgboost": "classifiers.xgboost",
    "logistic": "classifiers.logistic",
    "most_frequent": "classifiers.most_frequent",
    "voting": "voting.voting",
    "delta_votes": "voting.delta_votes",
    "hybrid": "stacked.hybrid",
}


def classifier(
    name: str, *, seed: int, trees: int, settings: Mapping[str, Any] | None = None
) -> Any:
    """Return an unfitted classifier, a pipeline of scikit-learn.

    Args:
        name: One of CLASSIFIERS.
        seed: Seed of all random numbers.
        trees: Number of trees; ignored by classifiers without trees.
        settings: Parameters of the pipeline to change, such as `model__max_depth`.
    """
    pipeline = _pipeline(name, seed, trees)
    unknown = sorted(set(settings or {}) - set(pipeline.get_params()))
    if unknown:
        raise ConfigError(f"{name} has no parameter {unknown[0]!r}")
    return pipeline.set_params(**(settings or {}))


def takes_weights(name: str) -> bool:
    """Return whether a classifier can learn from rows of different weights."""
    from sklearn.utils.validation import has_fit_parameter

    return bool(has_fit_parameter(_pipeline(name, 0, 1)[-1], "sample_weight"))


def own_threshold(name: str) -> float | None:
    """Return the threshold of a classifier that has one; None if it is to be chosen."""
    threshold: float | None = getattr(_pipeline(name, 0, 1)[-1], "own_threshold", None)
    return threshold


def real_probability(model: Any, matrix: Floats) -> Floats:
    """Return the probability of a real change that a fitted classifier gives to each row."""
    probability: Floats = model.predict_proba(matrix)[:, 1]
    return probability


def _pipeline(name: str, seed: int, trees: int) -> Any:
    """Import and make a classifier, as the last step of a pipeline."""
    if name not in CLASSIFIERS:
        raise ConfigError(f"unknown classifier {name!r}; known: {sorted(CLASSIFIERS)}")
    module, function = CLASSIFIERS[name].split(".")
    with needed(f"the classifier {name}"):
        from sklearn.pipeline import Pipeline

        make: Callable[[int, int], Any] = getattr(
            import_module(f"barograph.models.{module}"), function
        )
        made = make(seed, trees)
    return made if isinstance(made, Pipeline) else Pipeline([("model", made)])
