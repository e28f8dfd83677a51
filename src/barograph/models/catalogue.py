"""The classifiers by name: each is made fresh, unfitted, seeded, and runs on one core."""

from collections.abc import Callable
from typing import Any

from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from barograph.errors import ConfigError

Make = Callable[[int, int], Any]  # (seed, trees) -> unfitted classifier


def random_forest(seed: int, trees: int) -> RandomForestClassifier:
    """Return the forest of Bauer et al.; leaves of two points made it surer on held-out data."""
    return RandomForestClassifier(n_estimators=trees, min_samples_leaf=2, random_state=seed)


def logistic(seed: int, trees: int) -> Pipeline:  # noqa: ARG001 - one signature for all
    """Return the linear baseline."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000, random_state=seed))


def most_frequent(seed: int, trees: int) -> DummyClassifier:  # noqa: ARG001 - one signature for all
    """Return the baseline that knows nothing but how often people said yes."""
    return DummyClassifier(strategy="prior")


CLASSIFIERS: dict[str, Make] = {
    "random_forest": random_forest,
    "logistic": logistic,
    "most_frequent": most_frequent,
}


def classifier(name: str, *, seed: int, trees: int) -> Any:
    """Make one classifier by name."""
    if name not in CLASSIFIERS:
        raise ConfigError(f"no classifier is named {name!r}; known: {sorted(CLASSIFIERS)}")
    return CLASSIFIERS[name](seed, trees)
