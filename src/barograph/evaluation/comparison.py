"""Whether one model is worse than another on the same held-out rows."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from barograph.errors import DataError
from barograph.series import Floats

DRAWS = 1000


class Comparison(NamedTuple):
    """AUC of the new model less that of the old one, over bootstrap draws of whole series."""

    difference: float
    low: float
    high: float
    p_worse: float  # the share of draws in which the new one is not worse


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

    Rows of one series are near copies of one another, so whole series are drawn, and both models
    are judged on the same draw. A small `p_worse` says that the new one is worse, and not by luck.

    Args:
        truth: 1 where a person said real.
        new: What the new model says.
        old: What the old model says of the same rows.
        groups: The series of each row.
        seed: Draws other samples.
        draws: How many samples are drawn.
    """
    if np.unique(truth).size < 2:
        raise DataError(f"{truth.size} held-out rows of one class only: no model can be compared")
    _, place = np.unique(np.asarray(groups), return_inverse=True)
    order = np.argsort(place, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(place[order])) + 1)
    generator = np.random.default_rng(seed)
    found: list[float] = []
    while len(found) < draws:
        drawn = generator.integers(0, len(members), len(members))
        rows = np.concatenate([members[k] for k in drawn])
        if 0 < truth[rows].sum() < rows.size:
            found.append(auc(truth[rows], new[rows]) - auc(truth[rows], old[rows]))
    gaps = np.array(found)
    low, high = np.quantile(gaps, [0.025, 0.975])
    difference = auc(truth, new) - auc(truth, old)
    return Comparison(difference, float(low), float(high), float(np.mean(gaps >= 0)))


def auc(truth: npt.NDArray[np.int64], score: Floats) -> float:
    """Return the share of pairs of a real change and noise in which the real one scores higher."""
    real = int(truth.sum())
    ranks = rankdata(score)[truth == 1].sum()
    return float((ranks - real * (real + 1) / 2) / (real * (truth.size - real)))
