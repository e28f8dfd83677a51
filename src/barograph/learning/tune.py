"""Tune the classifiers of each use: a seeded random search on the rows that the twins learn from.

Settings are compared by their mean AUC over folds that share no series, so that near copies of a
point cannot be on both sides. Neither the validation rows of `train` nor the held-out series and
commits are read. The settings of the catalogue come from such a search.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

import numpy as np
from sklearn.metrics import roc_auc_score

from barograph.learning import tables
from barograph.learning.candidates import TrainParams, held_out
from barograph.learning.limits import Count, Folds, Named, Seed, Use, WholeNumber
from barograph.learning.protocols import folds_by_group
from barograph.models.catalogue import classifier, real_probability
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import NotEnoughDataError
from barograph.runtime.parallel import map_parallel

Hyperparameters = Mapping[str, Any]
Parts = list[tuple[Ints, Ints]]  # the rows to learn from and to judge, fold by fold

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

    settings: Hyperparameters
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
        rows = []
        for number, trial in sorted(enumerate(self.trials), key=lambda pair: -pair[1].auc):
            model = classifier(self.classifier, seed=0, trees=self.trees, settings=trial.settings)
            values = model.get_params()
            rows.append(
                {
                    "classifier": self.classifier,
                    "tried": number,  # 0 is the catalogue's settings
                    **{name: values[name] for name in SPACES[self.classifier]},
                    "auc": trial.auc,
                    "sd": float(np.std(trial.aucs, ddof=1)),
                    **{f"auc_{fold}": auc for fold, auc in enumerate(trial.aucs)},
                    "chosen": trial is self.best,
                }
            )
        return rows


@dataclass(frozen=True)
class TuneParams:
    """What is tuned, and how long the search is.

    Attributes:
        searches: The classifiers that are tuned for each use.
        trials: Number of settings that are tried for each.
        folds: Number of folds of the cross-validation.
        seed: Seed of folds, draws and classifiers.
        least_verdicts: With fewer, the settings of the catalogue stay: a search on so few rows
            prefers settings that fail with simulated rows mixed in.
    """

    searches: dict[Use, tuple[Annotated[str, Named(lambda: SPACES)], ...]]
    trials: Count
    folds: Folds
    seed: Seed
    least_verdicts: WholeNumber = 0


def search(
    name: str, matrix: Floats, truth: Ints, parts: Parts, params: TuneParams, trees: int
) -> Search:
    """Try the catalogue's settings, and others drawn from the space of the classifier.

    Args:
        name: One of SPACES.
        matrix: One row of features for each point.
        truth: 1 for the points that a person called real, else 0.
        parts: The rows to learn from and to judge of each fold.
        params: The number of trials, and the seed of draws and classifier.
        trees: Number of trees; ignored by classifiers without trees.
    """
    results = []
    for settings in draw_settings(name, params.trials, params.seed):
        aucs = []
        for train, test in parts:
            model = classifier(name, seed=params.seed, trees=trees, settings=settings)
            model.fit(matrix[train], truth[train])
            aucs.append(float(roc_auc_score(truth[test], real_probability(model, matrix[test]))))
        results.append(Trial(settings, float(np.mean(aucs)), tuple(aucs)))
    return Search(name, trees, tuple(results))


def draw_settings(name: str, trials: int, seed: int) -> list[Hyperparameters]:
    """Return the settings to try, each once; the first, empty ones are the catalogue's."""
    space = SPACES[name]
    grid = [dict(zip(space, values, strict=True)) for values in product(*space.values())]
    order = np.random.default_rng(seed).permutation(len(grid))
    return [{}, *(grid[k] for k in order[: trials - 1])]


def tune(
    params: TuneParams, learned: TrainParams, frames: tables.FrameReader = tables.read_for
) -> dict[tuple[str, str], Search | str]:
    """Search for every use and classifier; return why not where there are too few verdicts.

    Args:
        params: What is tuned.
        learned: What is learned afterwards.
        frames: Returns the feature table of a use.
    """
    calls: dict[tuple[str, str], tuple[Any, ...]] = {}
    without: dict[tuple[str, str], Search | str] = {}
    for use, names in params.searches.items():
        try:
            rows = tables.labelled(frames(use), str(learned.feature_sets[use]))
            data = _folds(rows, params, learned.seed)
        except NotEnoughDataError as error:
            without |= dict.fromkeys(((use, name) for name in names), str(error))
        else:
            calls |= {(use, name): (name, *data, params, learned.trees) for name in names}
    results = map_parallel(search, list(calls.values()), label="tune")
    return without | dict(zip(calls, results, strict=True))


def _folds(rows: tables.Labelled, params: TuneParams, seed: int) -> tuple[Floats, Ints, Parts]:
    """Return features, verdicts and folds of the training rows; no series is divided.

    Raises:
        NotEnoughDataError: There are too few verdicts, or a fold would have one class only.
    """
    verdicts = np.unique(rows.candidates).size
    if verdicts < params.least_verdicts:
        raise NotEnoughDataError(f"{verdicts} verdicts, {params.least_verdicts} are needed")
    part = held_out(rows, seed).train
    truth, series = rows.truth[part], rows.identities[part]
    folds = folds_by_group(truth, series, params.folds, params.seed)
    for number, (_, test) in enumerate(folds):
        if np.unique(truth[test]).size < 2:
            raise NotEnoughDataError(f"fold {number} of {params.folds} has only one class")
    return rows.matrix[part], truth, folds
