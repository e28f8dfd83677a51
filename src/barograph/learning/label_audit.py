"""Find verdicts that are probably wrong, with models that were trained without them.

Confident learning (Northcutt et al. 2021): the threshold of a class is its mean probability where
people chose it. A verdict is suspect if the probability of the other class reaches the threshold of
that class and is the larger one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.learning.protocols import folds_by_group
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import DataError, NotEnoughDataError

FOLDS = 5


@dataclass(frozen=True)
class Suspects:
    """The verdicts to look at again, the most suspect first.

    Attributes:
        rows: Numbers of the rows.
        verdicts: What people decided, 0 or 1.
        probability: The probability of a real change, from models that have not seen the verdict.
        margin: The probability of the other class less that of the verdict.
    """

    rows: Ints
    verdicts: Ints
    probability: Floats
    margin: Floats


def suspects(truth: Ints, probability: Floats) -> Suspects:
    """Rank the verdicts that the probabilities of `held_out` contradict strongly."""
    if truth.shape != probability.shape or not np.all((probability >= 0) & (probability <= 1)):
        raise DataError(
            f"{truth.shape} verdicts, {probability.shape} probabilities: they do not match"
        )
    if np.unique(truth).size < 2:
        raise NotEnoughDataError(f"{truth.size} verdicts of one class only: nothing to audit")
    both = np.column_stack([1.0 - probability, probability])
    thresholds = np.array([both[truth == label, label].mean() for label in (0, 1)])
    row = np.arange(truth.size)
    stated, other = both[row, truth], both[row, 1 - truth]
    margin = other - stated
    rows = np.flatnonzero((other >= thresholds[1 - truth]) & (margin > 0))
    rows = rows[np.argsort(-margin[rows], kind="stable")]
    return Suspects(rows, truth[rows], probability[rows], margin[rows])


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
