"""Control of the share of false discoveries among the change points of one run.

A run over thousands of series tests thousands of hypotheses, and some are rejected by chance.
The procedure of Benjamini and Hochberg bounds the expected share of false ones among them.
"""

from collections.abc import Sequence

import numpy as np

from barograph.detection.base import require
from barograph.detection.numerics import largest_kept
from barograph.results.series import ChangePoint


def control_discoveries(
    runs: Sequence[Sequence[ChangePoint]], *, tests: int, rate: float = 0.05
) -> list[list[ChangePoint]]:
    """Remove the change points of one run that Benjamini and Hochberg's procedure rejects.

    With the p-values in ascending order, all up to the largest k with p(k) <= rate * k / tests
    are kept. Change points without a p-value are kept too. The bound holds for independent tests
    and for tests that tend to fail together, such as series of one commit.

    Args:
        runs: The change points of each series, as a detector returned them.
        tests: Number of hypotheses that the run tested, including those that found nothing. The
            p-value of Hunter's t-test is that of one place chosen among all: count every point
            of every series. E-Divisive's permutations search too: count its change points, and
            one more per series for the test that ended the search.
        rate: Largest expected share of false discoveries among those kept.

    Returns:
        The change points of each series that are kept.
    """
    require(0 < rate < 1, "rate", rate, "between 0 and 1")
    pvalues = [point.pvalue for run in runs for point in run if point.pvalue is not None]
    require(tests >= len(pvalues), "tests", tests, f"at least {len(pvalues)}, the p-values given")
    limit = largest_kept(np.array(pvalues, dtype=np.float64), rate, tests)
    return [[p for p in run if p.pvalue is None or p.pvalue <= limit] for run in runs]
