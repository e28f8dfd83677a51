"""Training on soft labels: the share of people who called a candidate real."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import GroupKFold

from barograph.errors import NotEnoughDataError
from barograph.series import Floats, Ints

MEMBERS = 4
TREES = 250
FOLDS = 5


def boosted_ensemble(
    seed: int = 0, *, trees: int = TREES, members: int = MEMBERS, threads: int = 1
) -> VotingClassifier:
    """Return an unfitted mean of several boosted models that differ in their seeds.

    The mean varies less between seeds than a single model with the same number of trees. Each tree
    has depth 3 and sees three tenths of the columns, because contrasts are strongly correlated and
    no single one of them should decide.
    """
    from xgboost import XGBClassifier

    def member(number: int) -> Any:
        return XGBClassifier(
            n_estimators=trees,
            max_depth=3,
            learning_rate=15.0 / trees,
            subsample=0.6,
            colsample_bytree=0.3,
            min_child_weight=3,
            reg_lambda=3,
            max_bin=64,
            n_jobs=threads,
            random_state=seed * members + number,
        )

    estimators = [(f"member_{number}", member(number)) for number in range(members)]
    return VotingClassifier(estimators, voting="soft")


def weighted_rows(X: Floats, share: Floats) -> tuple[Floats, Ints, Floats]:
    """Return each row once per class, weighted by the share of the votes for that class."""
    rows = np.concatenate((X, X))
    classes = np.repeat(np.array([1, 0]), share.size)
    weights = np.concatenate((share, 1.0 - share))
    used = weights > 0.0
    return rows[used], classes[used], weights[used]


def fit_shares(model: Any, X: Floats, share: Floats) -> Any:
    """Fit a classifier that accepts sample weights to the share of people who said yes."""
    if not 0.0 <= share.min() < share.max() <= 1.0:
        raise NotEnoughDataError(
            f"the shares range from {share.min()} to {share.max()}; "
            "at least two different ones from 0 to 1 are needed"
        )
    rows, classes, weights = weighted_rows(X, share)
    return model.fit(rows, classes, sample_weight=weights)


def probability(model: Any, X: Floats) -> Floats:
    """Return the probability of the class 1 for each row."""
    if not X.shape[0]:
        return np.empty(0)
    result: Floats = model.predict_proba(X)[:, 1].astype(np.float64)
    return result


def held_out_probability(
    make: Any, X: Floats, share: Floats, groups: npt.ArrayLike, seed: int = 0
) -> Floats:
    """Return the probability of each row, by a model that was not fitted to its group.

    Args:
        make: Returns an unfitted classifier; called once for each fold.
        X: One row of features per candidate.
        share: The share of people who said yes.
        groups: The group of each row. A group is never divided between fitting and prediction.
        seed: Determines which groups share a fold.
    """
    labels = np.asarray(groups)
    count = np.unique(labels).size
    if count < 2:
        raise NotEnoughDataError(f"{count} group; at least 2 are needed to hold one out")
    folds = GroupKFold(min(FOLDS, count), shuffle=True, random_state=seed)
    result: Floats = np.empty(share.size)
    for train, test in folds.split(X, groups=labels):
        result[test] = probability(fit_shares(make(), X[train], share[train]), X[test])
    return result
