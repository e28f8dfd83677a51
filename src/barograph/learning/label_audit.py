"""Find verdicts that are probably wrong, with models that were trained without them.

Confident learning (Northcutt et al. 2021): the threshold of a class is its mean probability where
people chose it. A verdict is suspect if the probability of the other class reaches the threshold of
that class and is the larger one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.learning.protocols import folds_by_group
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import DataError, NotEnoughDataError

FOLDS = 5


def suspects(truth: Ints, probability: Floats) -> Ints:
    """Return the rows of the verdicts that probabilities contradict strongly, the worst first.

    Args:
        truth: The verdicts, 1 for real.
        probability: What `held_out` returns for them.
    """
    if truth.shape != probability.shape or not np.all((probability >= 0) & (probability <= 1)):
        raise DataError(
            f"{truth.shape} verdicts, {probability.shape} probabilities: they do not match"
        )
    if np.unique(truth).size < 2:
        raise NotEnoughDataError(f"{truth.size} verdicts of one class only: nothing to audit")
    both = np.column_stack([1.0 - probability, probability])
    thresholds = np.array([both[truth == label, label].mean() for label in (0, 1)])
    margin, other = margins(truth, probability), both[np.arange(truth.size), 1 - truth]
    rows = np.flatnonzero((other >= thresholds[1 - truth]) & (margin > 0))
    return rows[np.argsort(-margin[rows], kind="stable")]


def margins(truth: Ints, probability: Floats) -> Floats:
    """Return the probability of the other class less that of each verdict."""
    noise = 1.0 - probability
    return np.where(truth == 1, noise - probability, probability - noise)


def held_out(
    make: Callable[[], Any],
    matrix: Floats,
    truth: Ints,
    groups: npt.ArrayLike,
    *,
    seed: int = 0,
    folds: int = FOLDS,
) -> Floats:
    """Return each point's probability of a real change, by a model that saw none of its group.

    Args:
        make: Returns an unfitted classifier.
        matrix: One row of features for each triaged point.
        truth: The verdicts, 1 for real.
        groups: Points of one group, such as a series, are never on both sides: a near copy with
            the same wrong verdict would support it.
        seed: Seed of the folds.
        folds: Number of parts that are held out in turn.
    """
    probability = np.empty(truth.size)
    for train, test in folds_by_group(truth, groups, folds, seed):
        model = make().fit(matrix[train], truth[train])
        probability[test] = model.predict_proba(matrix[test])[:, 1]
    return probability
