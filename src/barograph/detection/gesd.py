"""Outliers by the generalised extreme studentised deviate test (Rosner 1983).

Whether single results belong to the stable region is an outlier test (Daly et al. 2020, section 6).
"""

from dataclasses import dataclass

import numpy as np

from barograph.detection.base import Detector, RawChangePoint, require
from barograph.detection.numerics import two_sided
from barograph.results.series import Floats, Ints

FEWEST = 5
SMALLEST = 1e-200  # keeps a quotient finite if nothing but the outlier varies


@dataclass(frozen=True)
class Gesd(Detector):
    """Find outliers, and report where they begin.

    `detect` tests the whole series: a change point is the first of consecutive outliers on one
    side of the mean. It reports a single spike, and no change that lasts longer than `share` of
    the series.

    Args:
        alpha: Probability of any outlier in a normal sample.
        share: Largest number of outliers, as a share of the points.

    Example:
        >>> spike = [10.0, 10.1, 9.9] * 10 + [14.0] + [10.0, 10.1, 9.9] * 10
        >>> Gesd().fit_predict(spike)
        array([30])
    """

    alpha: float = 0.05
    share: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.alpha < 1, "alpha", self.alpha, "between 0 and 1")
        require(0 < self.share <= 0.5, "share", self.share, "above 0 and at most 0.5")

    @property
    def shortest(self) -> int:
        """Fewest points with which one can differ from the rest."""
        return FEWEST

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the first point of each run of outliers."""
        indices, deviations, pvalues = rosner(values, max(1, int(self.share * values.size)))
        count = outliers(pvalues, self.alpha)
        rank = np.full(values.size, -1)
        rank[indices[:count]] = np.arange(count)
        sides = np.where(rank >= 0, np.sign(deviations)[rank], 0.0)
        begins = np.flatnonzero((sides[1:] != 0.0) & (sides[1:] != sides[:-1])) + 1
        return [
            RawChangePoint(int(i), float(deviations[rank[i]]), float(pvalues[rank[i]]))
            for i in begins
        ]


def outliers(pvalues: Floats, alpha: float) -> int:
    """Return the number of outliers: all up to the last significant one (Rosner's rule)."""
    significant = np.flatnonzero(pvalues < alpha)
    return int(significant[-1]) + 1 if significant.size else 0


def rosner(values: Floats, count: int) -> tuple[Ints, Floats, Floats]:
    """Remove the most extreme point `count` times; return indices, deviations and p-values.

    Each point is tested against the remaining ones: R = |x - mean| / s of m points. R exceeds
    Rosner's critical value at the level alpha if and only if m times the two-sided probability of
    the Student statistic is below alpha.
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    low, high = 0, ordered.size
    indices = np.empty(count, dtype=np.int64)
    deviations = np.zeros(count)
    for k in range(count):
        rest = ordered[low:high]
        mean, sd = rest.mean(), rest.std(ddof=1)
        upper = rest[-1] - mean >= mean - rest[0]
        indices[k] = order[high - 1] if upper else order[low]
        if sd > 0:
            deviations[k] = ((rest[-1] if upper else rest[0]) - mean) / sd
        low, high = (low, high - 1) if upper else (low + 1, high)
    return indices, deviations, _pvalues(deviations, values.size - np.arange(count))


def _pvalues(deviations: Floats, sizes: Ints) -> Floats:
    squares = deviations**2
    # (m - 1)^2 / m is the largest square that m points can reach.
    rest = np.maximum((sizes - 1.0) ** 2 - sizes * squares, SMALLEST)
    student = np.sqrt(sizes * (sizes - 2.0) * squares / rest)
    pairs = zip(student.tolist(), (sizes - 2.0).tolist(), strict=True)
    tails = np.array([two_sided(t, freedom) for t, freedom in pairs])
    pvalues: Floats = np.minimum(1.0, sizes * tails)
    return pvalues
