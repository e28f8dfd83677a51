"""Find verdicts that are probably wrong: people err, and models trained without them can tell.

Confident learning (Northcutt et al. 2021): a class's own threshold is the mean probability that the
model gives it where people chose it. A verdict is suspect where the probability of the other class
reaches that class's threshold, is the larger one, and the model has not seen the verdict.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedGroupKFold

from barograph.errors import DataError, NotEnoughDataError
from barograph.series import Floats, Ints

FOLDS = 5


@dataclass(frozen=True)
class Suspects:
    """The verdicts to look at again, the most suspect first."""

    rows: Ints
    verdicts: Ints  # what people said, 0 or 1
    probability: Floats  # of a real change, by models that have not seen the verdict
    margin: Floats  # probability of the other class less that of the verdict's

    def table(self) -> list[dict[str, Any]]:
        """Return one row a suspect, for a report."""
        columns = (self.rows, self.verdicts, self.probability, self.margin)
        listed = (column.tolist() for column in columns)
        names = ("row", "verdict", "probability", "margin")
        return [dict(zip(names, row, strict=True)) for row in zip(*listed, strict=True)]


def audit(
    make: Callable[[], Any],
    matrix: Floats,
    truth: Ints,
    groups: npt.ArrayLike,
    *,
    seed: int = 0,
    folds: int = FOLDS,
) -> Suspects:
    """Rank the verdicts that models trained without them contradict strongly.

    Args:
        make: Called without arguments for an unfitted classifier.
        matrix: One row of features a triaged point.
        truth: The verdicts, 1 for real.
        groups: Points of one group, a series say, are never on both sides: a near copy with the
            same wrong verdict would speak for it.
        seed: Of the folds.
        folds: How many parts are held back in turn.
    """
    probability = held_out(make, matrix, truth, np.asarray(groups), seed=seed, folds=folds)
    return suspects(truth, probability)


def suspects(truth: Ints, probability: Floats) -> Suspects:
    """Rank the verdicts that held-out probabilities contradict strongly."""
    if truth.shape != probability.shape or not np.all((probability >= 0) & (probability <= 1)):
        raise DataError(f"{truth.shape} verdicts, {probability.shape} probabilities: no pairs")
    if np.unique(truth).size < 2:
        raise NotEnoughDataError(f"{truth.size} verdicts of one class only: nothing to audit")
    both = np.column_stack([1.0 - probability, probability])
    thresholds = np.array([both[truth == label, label].mean() for label in (0, 1)])
    row = np.arange(truth.size)
    own, other = both[row, truth], both[row, 1 - truth]
    found = np.flatnonzero((other >= thresholds[1 - truth]) & (other > own))
    margin = other - own
    found = found[np.argsort(-margin[found], kind="stable")]
    return Suspects(found, truth[found], probability[found], margin[found])


def held_out(
    make: Callable[[], Any],
    matrix: Floats,
    truth: Ints,
    groups: npt.NDArray[Any],
    *,
    seed: int = 0,
    folds: int = FOLDS,
) -> Floats:
    """Return each point's probability of real, from a model that saw no point of its group."""
    count = np.unique(groups).size
    if count < folds:
        raise NotEnoughDataError(f"{count} groups cannot be divided into {folds} folds")
    if np.unique(truth).size < 2:
        raise NotEnoughDataError(f"{truth.size} verdicts of one class only: nothing to audit")
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
    probability = np.empty(truth.size)
    for number, (train, test) in enumerate(splitter.split(matrix, truth, groups)):
        if np.unique(truth[train]).size < 2:
            raise NotEnoughDataError(f"without fold {number} of {folds} one class only is left")
        model = make().fit(matrix[train], truth[train])
        probability[test] = model.predict_proba(matrix[test])[:, 1]
    return probability
