"""A small seeded search for a classifier's settings, recorded in full.

Each setting is judged by the mean AUC over folds that share no group (series, say), so that near
copies of a point on both sides do not reward remembering. What was tried is returned as a table:
a stage writes it beside the model, and the catalogue's settings can be traced to it.
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

# What is tried, by classifier; the names are those of the pipeline's parameters.
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
    """One setting, and how well it ranked what it had not seen."""

    settings: Settings
    auc: float
    aucs: tuple[float, ...]  # fold by fold


@dataclass(frozen=True)
class Search:
    """Everything that was tried, in the order in which it was."""

    classifier: str
    trees: int
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        """Return the first of those with the highest mean AUC."""
        return max(self.trials, key=lambda trial: trial.auc)

    def table(self) -> list[dict[str, Any]]:
        """Return one row a trial, the best first, for a stage to write."""
        order = sorted(range(len(self.trials)), key=lambda number: -self.trials[number].auc)
        return [self._row(number, self.trials[number]) for number in order]

    def _row(self, number: int, trial: Trial) -> dict[str, Any]:
        made = classifier(self.classifier, seed=0, trees=self.trees, settings=trial.settings)
        values = made.get_params()
        return {
            "classifier": self.classifier,
            "tried": number,  # 0: the catalogue's own settings
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
    """Try the catalogue's own settings and others drawn from the space of a classifier.

    Args:
        name: The classifier, one with a space.
        matrix: One row of features a point.
        truth: 1 where a person said real.
        groups: Points of one group are never on both sides.
        seed: Of the folds, the drawing and the classifier.
        trees: How many, where there are any.
        trials: How many settings at most, the catalogue's included.
        folds: How many parts are held back in turn.
    """
    parts = _folds(matrix, truth, np.asarray(groups), folds, seed)
    tried = [_tried(name, s, matrix, truth, parts, seed, trees) for s in drawn(name, trials, seed)]
    return Search(name, trees, tuple(tried))


def drawn(name: str, trials: int, seed: int) -> list[Settings]:
    """Return the settings to try: none, which is the catalogue's, then drawn ones, each once."""
    if name not in SPACES:
        raise ConfigError(f"there is nothing to tune in {name!r}; tuned are {sorted(SPACES)}")
    if trials < 1:
        raise ConfigError(f"{trials} trials: at least one is needed")
    space = SPACES[name]
    grid = [dict(zip(space, values, strict=True)) for values in product(*space.values())]
    order = np.random.default_rng(seed).permutation(len(grid))
    return [{}, *(grid[k] for k in order[: trials - 1])]


def _folds(
    matrix: Floats, truth: Ints, groups: npt.NDArray[Any], folds: int, seed: int
) -> list[tuple[Ints, Ints]]:
    if np.unique(truth).size < 2:
        raise NotEnoughDataError(f"{truth.size} points of one class: nothing can be tuned on them")
    count = np.unique(groups).size
    if count < folds:
        raise NotEnoughDataError(f"{count} groups cannot be divided into {folds} folds")
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    parts = [(train, test) for train, test in splitter.split(matrix, truth, groups)]
    for number, both in enumerate(parts):
        if any(np.unique(truth[part]).size < 2 for part in both):
            raise NotEnoughDataError(
                f"fold {number} of {folds} by group holds one class only: use fewer folds"
            )
    return parts


def _tried(
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
