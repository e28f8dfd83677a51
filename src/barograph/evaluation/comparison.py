"""Comparison of two models on the same held-out rows."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from barograph.errors import DataError
from barograph.evaluation.protocols import numbered
from barograph.series import Flags, Floats

DRAWS = 1000


class Comparison(NamedTuple):
    """The AUC of the new model minus that of the old one, with its bootstrap interval."""

    difference: float
    low: float
    high: float
    p_worse: float  # the share of draws in which the new model is not worse


def compared(
    truth: npt.NDArray[np.int64],
    new: Floats,
    old: Floats,
    groups: npt.ArrayLike,
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> Comparison:
    """Compare two models on the same rows by a paired bootstrap.

    Rows of one series are near copies of each other, so whole series are drawn, and both models are
    scored on the same draw. A small `p_worse` shows that the new model is significantly worse.

    Args:
        truth: 1 for real changes, 0 for noise.
        new: The scores of the new model.
        old: The scores of the old model for the same rows.
        groups: The series of each row.
        seed: Seed of the draws.
        draws: The number of draws.
    """
    if np.unique(truth).size < 2:
        raise DataError(f"{truth.size} held-out rows of one class only: models cannot be compared")
    group = numbered(groups)
    order = np.argsort(group, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    generator = np.random.default_rng(seed)
    differences: list[float] = []
    while len(differences) < draws:
        drawn = generator.integers(0, len(members), len(members))
        rows = np.concatenate([members[k] for k in drawn])
        if 0 < truth[rows].sum() < rows.size:
            differences.append(auc(truth[rows], new[rows]) - auc(truth[rows], old[rows]))
    gaps = np.array(differences)
    low, high = np.quantile(gaps, [0.025, 0.975])
    difference = auc(truth, new) - auc(truth, old)
    return Comparison(difference, float(low), float(high), float(np.mean(gaps >= 0)))


class ScoredRows(NamedTuple):
    """What a model says of rows: the probabilities, and its threshold for each or for all rows."""

    probability: Floats
    threshold: Floats | float

    @property
    def alarms(self) -> Flags:
        """Whether the model calls each row a real change."""
        return self.probability >= self.threshold


def judgements_compared(
    truth: npt.NDArray[np.int64],
    new: ScoredRows,
    old: ScoredRows,
    groups: npt.ArrayLike,
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> dict[str, dict[str, float]]:
    """Compare how often two models agree with people, and how well they are calibrated.

    Args:
        truth: 1 for real changes, 0 for noise.
        new: What the new model says of the rows.
        old: What the old one says.
        groups: The series of each row; whole series are drawn, as in `compared`.
        seed: Seed of the draws.
        draws: The number of draws.

    Returns:
        For `agreement` (the share of right decisions) and `brier` (the mean squared distance of the
        probabilities from the verdicts): the value of both models, and the bootstrap interval of
        the difference.

    Example:
        >>> truth, sure = np.array([1, 0]), ScoredRows(np.array([0.9, 0.1]), 0.5)
        >>> gaps = judgements_compared(truth, sure, ScoredRows(np.ones(2), 0.5), [1, 2], draws=10)
        >>> gaps["agreement"]["new"], gaps["agreement"]["old"], round(gaps["brier"]["new"], 3)
        (1.0, 0.5, 0.01)
    """
    measures = {
        "agreement": tuple((model.alarms == truth).astype(np.float64) for model in (new, old)),
        "brier": tuple((model.probability - truth) ** 2 for model in (new, old)),
    }
    group = numbered(groups)
    sizes = np.bincount(group)
    drawn = np.random.default_rng(seed).integers(0, sizes.size, (draws, sizes.size))
    rows = sizes[drawn].sum(axis=1)
    result = {}
    for name, (first, second) in measures.items():
        gaps = np.bincount(group, weights=first - second)[drawn].sum(axis=1) / rows
        low, high = np.quantile(gaps, [0.025, 0.975])
        means = {"new": float(first.mean()), "old": float(second.mean())}
        result[name] = means | {"low": float(low), "high": float(high)}
    return result


def auc(truth: npt.NDArray[np.int64], score: Floats) -> float:
    """Return the share of pairs of a real change and noise in which the change scores higher."""
    real = int(truth.sum())
    ranks = rankdata(score)[truth == 1].sum()
    return float((ranks - real * (real + 1) / 2) / (real * (truth.size - real)))
