"""Comparison of two models on the same held-out rows."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from barograph.errors import DataError
from barograph.series import Floats

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
    _, group = np.unique(np.asarray(groups), return_inverse=True)
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


def auc(truth: npt.NDArray[np.int64], score: Floats) -> float:
    """Return the share of pairs of a real change and noise in which the change scores higher."""
    real = int(truth.sum())
    ranks = rankdata(score)[truth == 1].sum()
    return float((ranks - real * (real + 1) / 2) / (real * (truth.size - real)))
