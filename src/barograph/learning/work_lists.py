"""Which verdicts are worth a second look: those that models doubt.

Labels are doubted by confident learning (Northcutt et al. 2021): the threshold of a class is the
mean probability of a model, trained without them, where people chose it. A verdict is suspect if
the probability of the other class reaches the threshold of that class and is the larger one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from barograph.learning.protocols import folds_by_group
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import NotEnoughDataError

if TYPE_CHECKING:
    from barograph.learning.candidates import TrainParams
    from barograph.results.history import History

FOLDS = 5
LENGTH = 25  # candidates in a list: what one person decides in a sitting


def suspects(truth: Ints, probability: Floats) -> Ints:
    """Return the rows of the verdicts that probabilities contradict strongly, the worst first.

    There are none while verdicts are of one class.

    Args:
        truth: The verdicts, 1 for real.
        probability: What `held_out` returns for them.

    Example:
        >>> suspects(np.array([1, 1, 0, 0, 1]), np.array([0.9, 0.8, 0.1, 0.2, 0.05])).tolist()
        [4]
    """
    if np.unique(truth).size < 2:
        return np.empty(0, dtype=np.int64)
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


def audited_labels(history: History, params: TrainParams) -> list[tuple[int, bool, float]]:
    """Return the verdicts that models trained without their series contradict most.

    Args:
        history: The values, and the candidates with their verdicts.
        params: The classifiers, of which the first is used, its features and the seed.

    Returns:
        The number of each candidate in the history, whether a person called it real, and the
        probability; none if the verdicts are too few to audit.
    """
    from barograph.learning import tables
    from barograph.models.catalogue import classifier

    use = "label_free"
    first = params.learners(use)[0]
    feature_set = first.feature_set
    try:
        frame = tables.frames_of(history, {use: (feature_set,)})(use)
        rows = tables.labelled(frame, feature_set)
        make = partial(classifier, first.classifier, seed=params.seed, trees=params.trees)
        probability = held_out(make, rows.matrix, rows.truth, rows.identities, seed=params.seed)
    except NotEnoughDataError:
        return []
    return [
        (int(rows.candidates[row]), bool(rows.truth[row]), float(probability[row]))
        for row in suspects(rows.truth, probability)[:LENGTH]
    ]
