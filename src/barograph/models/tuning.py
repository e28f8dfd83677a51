"""A seeded random search for the settings of a classifier.

Settings are compared by their mean AUC over folds that share no group (for example no series), so
that near copies of a point cannot be on both sides. The table of all trials is stored with the
model; the settings of the catalogue come from such a table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold

from barograph.errors import ConfigError, NotEnoughDataError
from barograph.models.catalogue import classifier
from barograph.series import Floats, Ints

Settings = Mapping[str, Any]
FOLDS = 5

# The values to try by classifier; the names are parameters of the pipeline.
SPACES: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "random_forest": {
        "model__min_samples_leaf": (1, 2, 3, 5, 10),
        "model__max_features": ("sqrt", 0.35, 0.6),
        "model__criterion": ("gini", "entropy"),
    },
    "svm": {
        "model__estimator__C": (0.3, 1.0, 3.0, 10.0, 30.0),
        "model__estimator__gamma": ("scale", 0.02, 0.05, 0.1, 0.2),
    },
    "xgboost": {
        "model__max_depth": (3, 4, 6, 8),
        "model__learning_rate": (0.02, 0.05, 0.1),
        "model__min_child_weight": (1, 5, 20),
        "model__colsample_bytree": (0.3, 0.5, 0.8),
        "model__subsample": (0.65, 0.9),
    },
    "logistic": {"model__C": (0.01, 0.1, 1.0, 10.0, 100.0)},
}


@dataclass(frozen=True)
class Trial:
    """Settings, and their AUC on held-out folds."""

    settings: Settings
    auc: float
    aucs: tuple[float, ...]  # fold by fold


@dataclass(frozen=True)
class Search:
    """All trials in the order in which they ran."""

    classifier: str
    trees: int
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        """The first trial with the highest mean AUC."""
        return max(self.trials, key=lambda trial: trial.auc)

    def table(self) -> list[dict[str, Any]]:
        """Return one row for each trial, the best first."""
        order = sorted(range(len(self.trials)), key=lambda number: -self.trials[number].auc)
        return [self._row(number, self.trials[number]) for number in order]

    def _row(self, number: int, trial: Trial) -> dict[str, Any]:
        values = classifier(
            self.classifier, seed=0, trees=self.trees, settings=trial.settings
        ).get_params()
        return {
            "classifier": self.classifier,
            "tried": number,  # 0 is the catalogue's settings
            **{name: values[name] for name in SPACES[self.classifier]},
            "auc": trial.auc,
            "sd": float(np.std(trial.aucs, ddof=1)),
            **{f"auc_{fold}": auc for fold, auc in enumerate(trial.aucs)},
            "chosen": trial is self.best,
        }


def search(
    name: str,
    matrix: Floats,
    truth: Ints,
    groups: npt.ArrayLike,
    *,
    seed: int,
    trees: int,
    trials: int,
    folds: int = FOLDS,
) -> Search:
    """Try the catalogue's settings, and others drawn from the space of the classifier.

    Args:
        name: One of SPACES.
        matrix: One row of features for each point.
        truth: 1 for the points that a person called real, else 0.
        groups: The group of each point. A group is never divided between fitting and judging.
        seed: Seed of the folds, the draws and the classifier.
        trees: Number of trees; ignored by classifiers without trees.
        trials: Maximum number of settings to try, including the catalogue's.
        folds: Number of folds.
    """
    parts = _folds(matrix, truth, np.asarray(groups), folds, seed)
    results = [
        _trial(name, settings, matrix, truth, parts, seed, trees)
        for settings in draw_settings(name, trials, seed)
    ]
    return Search(name, trees, tuple(results))


def draw_settings(name: str, trials: int, seed: int) -> list[Settings]:
    """Return the settings to try, each once; the first, empty ones are the catalogue's."""
    if name not in SPACES:
        raise ConfigError(
            f"{name!r} has no settings to tune; classifiers that have: {sorted(SPACES)}"
        )
    if trials < 1:
        raise ConfigError(f"the number of trials must be at least 1, not {trials}")
    space = SPACES[name]
    grid = [dict(zip(space, values, strict=True)) for values in product(*space.values())]
    order = np.random.default_rng(seed).permutation(len(grid))
    return [{}, *(grid[k] for k in order[: trials - 1])]


def _folds(
    matrix: Floats, truth: Ints, groups: npt.NDArray[Any], folds: int, seed: int
) -> list[tuple[Ints, Ints]]:
    if np.unique(truth).size < 2:
        raise NotEnoughDataError(f"all {truth.size} points are of one class; tuning needs both")
    count = np.unique(groups).size
    if count < folds:
        raise NotEnoughDataError(f"{count} groups cannot be divided into {folds} folds")
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    parts = [(train, test) for train, test in splitter.split(matrix, truth, groups)]
    for number, both in enumerate(parts):
        if any(np.unique(truth[part]).size < 2 for part in both):
            raise NotEnoughDataError(
                f"fold {number} of {folds} has points of one class only; use fewer folds"
            )
    return parts


def _trial(
    name: str,
    settings: Settings,
    matrix: Floats,
    truth: Ints,
    parts: list[tuple[Ints, Ints]],
    seed: int,
    trees: int,
) -> Trial:
    aucs = []
    for train, test in parts:
        model = classifier(name, seed=seed, trees=trees, settings=settings)
        model.fit(matrix[train], truth[train])
        real = model.predict_proba(matrix[test])[:, 1]
        aucs.append(float(roc_auc_score(truth[test], real)))
    return Trial(settings, float(np.mean(aucs)), tuple(aucs))
