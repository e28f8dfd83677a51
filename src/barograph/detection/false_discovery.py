"""Control the share of false discoveries among all change points of one run.

A run over thousands of series tests thousands of hypotheses, and some come out by chance alone.
Benjamini and Hochberg's procedure bounds the expected share of false ones among those reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from barograph.detection.base import require
from barograph.series import ChangePoint, Floats


@dataclass(frozen=True, slots=True)
class Discoveries:
    """What is left of a run, and what the control did.

    Attributes:
        kept: the change points that remain, series by series.
        rate: the share of false discoveries that was allowed.
        tests: how many hypotheses were counted.
        given: how many change points with a p-value came in.
        removed: how many of them were left out.
        limit: the largest p-value kept, 0 if none was.
    """

    kept: list[list[ChangePoint]]
    rate: float
    tests: int
    given: int
    removed: int
    limit: float


def control_discoveries(
    runs: Sequence[Sequence[ChangePoint]], *, tests: int, rate: float = 0.05
) -> Discoveries:
    """Keep the change points of one run that Benjamini and Hochberg's procedure keeps.

    With the p-values in ascending order, the largest k with p(k) <= rate * k / tests is sought;
    all up to p(k) stay. Change points without a p-value stay untouched. The bound holds for
    independent tests and for tests that tend to fail together, such as series of one commit.

    Args:
        runs: the change points of each series, as a detector returned them.
        tests: how many hypotheses the run tested, those that found nothing included. The p-value of
            Hunter's t-test is that of one place, chosen among all: count every place, which is
            the number of points of all series. E-Divisive's permutations search as well, so its
            tests are the change points and one more for each series, the one that ended it.
        rate: the largest expected share of false ones among those kept.
    """
    require(0 < rate < 1, "rate", rate, "between 0 and 1")
    given = [point.pvalue for run in runs for point in run if point.pvalue is not None]
    require(tests >= len(given), "tests", tests, f"at least {len(given)}, the p-values given")
    limit = largest_kept(np.array(given, dtype=np.float64), rate, tests)
    kept = [[p for p in run if p.pvalue is None or p.pvalue <= limit] for run in runs]
    left = sum(pvalue <= limit for pvalue in given)
    return Discoveries(kept, rate, tests, len(given), len(given) - left, max(limit, 0.0))


def largest_kept(pvalues: Floats, rate: float, tests: int) -> float:
    """Return the largest p-value that stays, -1 if none does."""
    ordered = np.sort(pvalues)
    passing = ordered[ordered <= rate * np.arange(1, ordered.size + 1) / max(tests, 1)]
    return float(passing[-1]) if passing.size else -1.0
