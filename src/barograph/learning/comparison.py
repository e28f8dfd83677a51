"""Comparison of two models on the same held-out rows."""

from math import hypot
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from barograph.learning.protocols import numbered
from barograph.results.series import Flags, Floats
from barograph.runtime.errors import DataError

DRAWS = 1000
INTERVAL = 0.05, 0.95  # of the bootstrap draws: a 90 % interval
LEAST_GROUPS = 5  # fewer all gain by chance in more than 5 % of the cases: 2**-4 is 6 %


class Comparison(NamedTuple):
    """The gain of a new model over an old one, with its 90 % bootstrap interval."""

    difference: float  # a measure of the new model minus that of the old one
    low: float
    high: float
    p_worse: float  # the share of draws in which the new model is not worse
    groups: int  # the number of series, or of groups of series in which the models differ

    @classmethod
    def of(cls, difference: float, draws: Floats, groups: int) -> Self:
        """Return the comparison that bootstrap draws of the difference give."""
        low, high = np.quantile(draws, INTERVAL)
        return cls(difference, float(low), float(high), float(np.mean(draws >= 0)), groups)

    def over(self, other: "Comparison") -> "Comparison":
        """Return the gain over another model whose gain over the same old model is known.

        The interval is that of two independent estimates (Zou and Donner 2008): wider than
        necessary if they rest on some of the same rows.
        """
        difference = self.difference - other.difference
        low = difference - hypot(self.difference - self.low, other.high - other.difference)
        high = difference + hypot(self.high - self.difference, other.difference - other.low)
        return Comparison(difference, low, high, float(high >= 0), self.groups)


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
    difference = auc(truth, new) - auc(truth, old)
    return Comparison.of(difference, np.array(differences), len(members))


def is_better(gain: Comparison, other: str, shown: str) -> tuple[bool, str]:
    """Return whether the lower end of the interval of a gain is above 0, and a sentence on it.

    Args:
        gain: The gain over another model.
        other: Names the other model.
        shown: What was measured, and on how many verdicts.

    Example:
        >>> gain = Comparison(0.03, 0.01, 0.05, 1.0, 40)
        >>> is_better(gain, "another", "AUC on 91 verdicts")[1]
        'better than another: gain +0.030 (90 % interval +0.010 to +0.050) in AUC on 91 verdicts'
    """
    interval = f"90 % interval {gain.low:+.3f} to {gain.high:+.3f}"
    facts = f"gain {gain.difference:+.3f} ({interval}) in {shown}"
    if gain.high < 0:
        return False, f"worse than {other}: {facts}"
    if gain.low <= 0:
        return False, f"the interval of its gain over {other} includes 0: {facts}"
    if gain.groups < LEAST_GROUPS:
        return False, f"too few series to tell, {gain.groups} of {LEAST_GROUPS}: {facts}"
    return True, f"better than {other}: {facts}"


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
        low, high = np.quantile(gaps, INTERVAL)
        means = {"new": float(first.mean()), "old": float(second.mean())}
        result[name] = means | {"low": float(low), "high": float(high)}
    return result


def auc(truth: npt.NDArray[np.int64], score: Floats) -> float:
    """Return the share of pairs of a real change and noise in which the change scores higher."""
    real = int(truth.sum())
    ranks = rankdata(score)[truth == 1].sum()
    return float((ranks - real * (real + 1) / 2) / (real * (truth.size - real)))
