"""Boosted trees that learn from shares: how many of the people who looked called it real."""

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


def boosted(
    seed: int = 0, *, trees: int = TREES, members: int = MEMBERS, threads: int = 1
) -> VotingClassifier:
    """Return shallow boosted trees, the mean of a few seeds: steadier than one, and no slower.

    Trees of depth 3 on three tenths of the columns each: the contrasts are many views of one
    step, and no single one of them should decide.
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

    named = [(f"member_{number}", member(number)) for number in range(members)]
    return VotingClassifier(named, voting="soft")


def soften(X: Floats, share: Floats) -> tuple[Floats, Ints, Floats]:
    """Return rows, classes and weights for shares: a row of both classes, weighted by the votes."""
    rows = np.concatenate((X, X))
    classes = np.repeat(np.array([1, 0]), share.size)
    weights = np.concatenate((share, 1.0 - share))
    voted = weights > 0.0
    return rows[voted], classes[voted], weights[voted]


def fit_shares(model: Any, X: Floats, share: Floats) -> Any:
    """Fit any classifier that takes weights to the share of people who said yes, row by row."""
    if not 0.0 <= share.min() < share.max() <= 1.0:
        raise NotEnoughDataError(
            f"shares from {share.min()} to {share.max()}: two different ones in 0..1 are needed"
        )
    rows, classes, weights = soften(X, share)
    return model.fit(rows, classes, sample_weight=weights)


def probability(model: Any, X: Floats) -> Floats:
    """Return the probability that a person says yes to each row."""
    if not X.shape[0]:
        return np.empty(0)
    result: Floats = model.predict_proba(X)[:, 1].astype(np.float64)
    return result


def held_out_probability(
    make: Any, X: Floats, share: Floats, groups: npt.ArrayLike, seed: int = 0
) -> Floats:
    """Return each row's probability from a model that saw no row of its group.

    Args:
        make: Called without arguments for a fresh classifier per fold.
        X: One row of features per candidate.
        share: The share of people who said yes.
        groups: Rows of one group are never on both sides.
        seed: Which groups share a fold.
    """
    labels = np.asarray(groups)
    count = np.unique(labels).size
    if count < 2:
        raise NotEnoughDataError(f"{count} group: nothing could be held out; 2 are needed")
    folds = GroupKFold(min(FOLDS, count), shuffle=True, random_state=seed)
    result: Floats = np.empty(share.size)
    for train, test in folds.split(X, groups=labels):
        result[test] = probability(fit_shares(make(), X[train], share[train]), X[test])
    return result
