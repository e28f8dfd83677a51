"""Hunter: E-Divisive in windows, with Student's t-test (Fleming et al. 2023, Apache Otava).

Weak change points are found in windows, then merged from the bottom up (3.4): the weakest point is
removed and its neighbours are tested again, until every remaining point is significant and large
enough.
"""

import math
from dataclasses import dataclass
from itertools import islice, repeat

import numpy as np

from barograph.detection.base import Detector, RawChangePoint, require
from barograph.detection.hunter.windows import t_test, weak_points, workspace
from barograph.detection.numerics import two_sided
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel

SHORTEST = 3
# Squares and sums of values in this range neither overflow nor vanish.
SMALL, LARGE = 1e-100, 1e100
# Window, first and final p-value, magnitude, and whether parity is wanted.
HunterLimits = tuple[int, float, float, float, bool]


@dataclass(frozen=True)
class Hunter(Detector):
    """E-Divisive in windows, t-tests, and merging of weak points from the bottom up.

    It is deterministic. `statistic` is the energy Q of a point in its window, `pvalue` that of the
    t-test between the two final regions.

    Args:
        window: Points of a window; each overlaps half of the previous one.
        pvalue: Largest p-value of a change point.
        min_magnitude: Smallest relative change (the larger of both directions) to report; 0.05
            leaves out changes below 5 %.
        parity: Return exactly the change points of Apache Otava 0.8.0, with its quirks: a point
            keeps its p-value when the point to its right is merged, and constant stretches are
            compared with NumPy's rounding.
        weak: Find weak change points at a generous p-value first, and merge them. Without it, the
            windows are divided at `pvalue` itself (Fleming et al. 2023, Table 1).

    Example:
        >>> Hunter(pvalue=0.05).detect([1.0, 1.1, 0.9, 1.0, 2.0, 2.1, 1.9, 2.0])[0].index
        4
    """

    window: int = 50
    pvalue: float = 0.001
    min_magnitude: float = 0.0
    parity: bool = False
    weak: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.window >= 2, "window", self.window, "at least 2 points")
        require(0 < self.pvalue < 1, "pvalue", self.pvalue, "between 0 and 1")
        require(self.min_magnitude >= 0, "min_magnitude", self.min_magnitude, "0 or more")

    @property
    def shortest(self) -> int:
        """Three points: two have no variance."""
        return SHORTEST

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the change points of a series."""
        return self.find_many(values, np.array((0, values.size)))[0]

    def find_many(self, values: Floats, offsets: Ints) -> list[list[RawChangePoint]]:
        """Return the change points of many series: values[offsets[i]:offsets[i + 1]] is one."""
        first, final = (
            (generous(self.pvalue), self.pvalue) if self.weak else (self.pvalue, math.inf)
        )
        limits = self.window, first, final, float(self.min_magnitude), self.parity
        counts = np.zeros(offsets.size - 1, dtype=np.int64)
        points = np.empty(values.size, dtype=np.int64)
        scores = np.empty((2, values.size))
        longest = min(self.window, int(np.diff(offsets).max(initial=0)))
        total = hunt(values, offsets, limits, longest, counts, points, scores)
        rows = points[:total].tolist(), *scores[:, :total].tolist()
        unknown = repeat(None)
        points_of_all = map(RawChangePoint, *rows, unknown, unknown, rows[1])
        return [list(islice(points_of_all, count)) for count in counts.tolist()]


def generous(pvalue: float) -> float:
    """Return the p-value for weak change points, as in Hunter and Otava."""
    if pvalue < 0.05:
        return pvalue * 10
    return pvalue * 2 if pvalue < 0.5 else pvalue


@kernel
def hunt(
    values: Floats,
    offsets: Ints,
    limits: HunterLimits,
    longest: int,
    counts: Ints,
    points: Ints,
    scores: Floats,
) -> int:
    """Find and merge the points of each series; return the number of all points.

    The rows of `scores` are filled with energies and p-values.
    """
    total = 0
    space = workspace(longest)
    window, first, final, magnitude, parity = limits
    for i in range(counts.size):
        series = values[offsets[i] : offsets[i + 1]]
        if series.size < SHORTEST:
            continue
        scale = _scale(series)
        if scale != 1.0:
            series = series / scale
        more, energies, pvalues = points[total:], scores[0, total:], scores[1, total:]
        weak = weak_points(series, window, first, not parity, space, more, energies)
        counts[i] = merge(series, more[:weak], energies, pvalues, final, magnitude, parity)
        energies[: counts[i]] *= scale
        total += counts[i]
    return total


@kernel
def _scale(values: Floats) -> float:
    """Return the power of two to divide a series by; 1 for most series."""
    peak = 0.0
    for value in values:
        peak = max(peak, abs(value))
    if peak == 0.0 or SMALL <= peak <= LARGE:
        return 1.0
    return math.ldexp(1.0, max(math.frexp(peak)[1] - 1, -1000))


@kernel
def merge(
    values: Floats,
    points: Ints,
    energies: Floats,
    pvalues: Floats,
    pvalue: float,
    magnitude: float,
    parity: bool,
) -> int:
    """Remove weak points and their energies, write the p-values, return the number of points.

    Removing a point changes the regions of both neighbours. Apache Otava 0.8.0 tests the two
    points to the right again, so the left one keeps the p-value of a former region. `parity` does
    the same.
    """
    count = points.size
    changes, scratch = np.empty(count), np.empty(values.size)
    first, last = 0, count
    while True:
        for k in range(first, last):
            start = points[k - 1] if k else 0
            end = points[k + 1] if k + 1 < count else values.size
            t, freedom, changes[k] = t_test(values, start, points[k], end, not parity, scratch)
            pvalues[k] = two_sided(t, freedom)
        weakest = _weakest(count, pvalues, changes, pvalue, magnitude)
        if weakest < 0:
            return count
        count -= 1
        for k in range(weakest, count):
            points[k], energies[k] = points[k + 1], energies[k + 1]
            pvalues[k], changes[k] = pvalues[k + 1], changes[k + 1]
        first = max(weakest if parity else weakest - 1, 0)
        last = min(first + 2, count)


@kernel
def _weakest(count: int, pvalues: Floats, changes: Floats, pvalue: float, magnitude: float) -> int:
    """Return the position of the point to remove, -1 if there is none.

    The least significant point, unless it passes; then the smallest change, unless that passes.
    The comparisons are written so that a p-value of NaN in the first place (two equal constants,
    under parity) is removed, as Otava does.
    """
    if count == 0:
        return -1
    worst = 0
    for k in range(1, count):
        if pvalues[k] > pvalues[worst]:
            worst = k
    if not pvalues[worst] < pvalue:
        return worst
    least = 0
    for k in range(1, count):
        if changes[k] < changes[least]:
            least = k
    return -1 if changes[least] > magnitude else least
