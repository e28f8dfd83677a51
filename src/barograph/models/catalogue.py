"""The classifiers by name: seeded, unfitted scikit-learn pipelines that run on one core.

Every pipeline ends in the step `model`. The settings come from a paper, or from a search by
`tuning` on grouped splits of the simulated history.
"""

from collections.abc import Callable, Mapping
from typing import Any

from barograph.errors import ConfigError
from barograph.extras import needed
from barograph.models.threshold import ABOVE_HALF
from barograph.series import Floats

with needed("barograph.models.catalogue"):
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.utils.validation import has_fit_parameter

    from barograph.models.stacked import StackedTriage, published_xgboost
    from barograph.models.voting import VotingTriage

Make = Callable[[int, int], Any]  # (seed, trees) -> unfitted classifier


def random_forest(seed: int, trees: int) -> RandomForestClassifier:
    """Return the forest of Bauer et al. 2022, 3.1, with leaves of at least five points."""
    return RandomForestClassifier(
        n_estimators=trees, min_samples_leaf=5, max_features=0.35, random_state=seed
    )


def svm(seed: int, trees: int) -> CalibratedClassifierCV:  # noqa: ARG001 - the signature of Make
    """Return an SVM with a radial kernel, calibrated by Platt's sigmoid on three folds."""
    return CalibratedClassifierCV(SVC(C=3.0), method="sigmoid", cv=3, ensemble=False)


def xgboost(seed: int, trees: int) -> Any:
    """Return boosted trees."""
    from xgboost import XGBClassifier  # imported here because it is slow

    return XGBClassifier(
        n_estimators=trees,
        max_depth=6,
        learning_rate=min(0.3, 6.0 / trees),  # tuned with 300 trees; more trees learn more slowly
        subsample=0.9,
        colsample_bytree=0.5,
        tree_method="hist",
        n_jobs=1,
        random_state=seed,
    )


def logistic(seed: int, trees: int) -> LogisticRegression:  # noqa: ARG001
    """Return logistic regression, the linear baseline."""
    return LogisticRegression(max_iter=2000, random_state=seed)


def most_frequent(seed: int, trees: int) -> DummyClassifier:  # noqa: ARG001
    """Return the baseline that predicts the share of real changes for every row."""
    return DummyClassifier(strategy="prior")


def voting(seed: int, trees: int) -> VotingTriage:  # noqa: ARG001
    """Return the voting scheme of Leznik et al. 2022, 4.1, on all columns."""
    return VotingTriage()


def delta_votes(seed: int, trees: int) -> VotingTriage:  # noqa: ARG001
    """Return the same scheme without the vote of the distance."""
    return VotingTriage(use_distance=False)


def voting_ranges(seed: int, trees: int) -> VotingTriage:  # noqa: ARG001
    """Return the voting scheme with ranges of the distance that it learns with the votes."""
    return VotingTriage(own_ranges=True)


def hybrid(seed: int, trees: int) -> StackedTriage:  # noqa: ARG001
    """Return the hybrid of Leznik et al. 2022, 4.3, with the authors' settings of XGBoost."""
    return StackedTriage(published_xgboost(seed))


CLASSIFIERS: dict[str, Make] = {
    "random_forest": random_forest,
    "svm": svm,
    "xgboost": xgboost,
    "logistic": logistic,
    "most_frequent": most_frequent,
    "voting": voting,
    "delta_votes": delta_votes,
    "voting_ranges": voting_ranges,
    "hybrid": hybrid,
}
# Classifiers with a threshold of their own: a change if the score is above one half (4.1).
RULES = dict.fromkeys(("voting", "delta_votes", "voting_ranges"), ABOVE_HALF)
SCALED = frozenset({"svm", "logistic"})  # the others depend only on the order of the values


def classifier(
    name: str, *, seed: int, trees: int, settings: Mapping[str, Any] | None = None
) -> Pipeline:
    """Return an unfitted classifier.

    Args:
        name: One of CLASSIFIERS.
        seed: Seed of all random numbers.
        trees: Number of trees; ignored by classifiers without trees.
        settings: Parameters of the pipeline to change, such as `model__max_depth`.
    """
    if name not in CLASSIFIERS:
        raise ConfigError(f"unknown classifier {name!r}; known: {sorted(CLASSIFIERS)}")
    scale = [("scale", StandardScaler())] if name in SCALED else []
    pipeline = Pipeline([*scale, ("model", CLASSIFIERS[name](seed, trees))])
    unknown = sorted(set(settings or {}) - set(pipeline.get_params()))
    if unknown:
        raise ConfigError(f"{name} has no parameter {unknown[0]!r}")
    return pipeline.set_params(**(settings or {}))


def takes_weights(name: str) -> bool:
    """Return whether a classifier can learn from rows of different weights."""
    return bool(has_fit_parameter(CLASSIFIERS[name](0, 1), "sample_weight"))


def real_probability(model: Any, matrix: Floats) -> Floats:
    """Return the probability of a real change that a fitted classifier gives to each row."""
    probability: Floats = model.predict_proba(matrix)[:, 1]
    return probability
