"""Hunter: E-Divisive in windows, with Student's t-test (Fleming et al. 2023, Apache Otava).

A window is divided as long as its best proposal is significant. The next one starts half a window
later, or at the last change point found if that is later, so that no change point is on an edge and
none is found twice (3.2 to 3.4).

Weak change points are found in windows, then merged from the bottom up (3.4): the weakest point is
removed and its neighbours are tested again, until every remaining point is significant and large
enough.
"""

import math
from dataclasses import dataclass
from itertools import islice, repeat
from typing import NamedTuple

import numpy as np

from barograph.detection.base import Detector, RawChangePoint, require
from barograph.detection.edivisive import strongest
from barograph.detection.edivisive.energy import add_distances, distances_back
from barograph.detection.hunter.tau_kappa import PairSpace, best_pair, pair_space
from barograph.detection.numerics import mean_and_squares, significant, two_sided
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
        total = hunt(values, offsets, limits, counts, points, scores)
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
    counts: Ints,
    points: Ints,
    scores: Floats,
) -> int:
    """Find and merge the points of each series; return the number of all points.

    The rows of `scores` are filled with energies and p-values.
    """
    total = 0
    window, first, final, magnitude, parity = limits
    space = workspace(min(window, values.size))
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


class WindowSpace(NamedTuple):
    """Working space for windows of one length: for each point the part it starts, and sums."""

    ends: Ints
    taus: Ints
    energies: Floats
    reached: Floats
    earlier: Floats
    columns: Floats
    scratch: Floats
    pairs: PairSpace


@kernel
def workspace(size: int) -> WindowSpace:
    """Allocate the working space for windows of up to `size` points."""
    ends, taus = np.empty(size, np.int64), np.empty(size, np.int64)
    energies, reached, earlier = np.empty(size), np.empty(size), np.empty(size)
    columns, scratch, pairs = np.empty(size), np.empty(size), pair_space(size)
    return WindowSpace(ends, taus, energies, reached, earlier, columns, scratch, pairs)


@kernel
def t_test(
    values: Floats, start: int, split: int, end: int, exact: bool, scratch: Floats
) -> tuple[float, float, float]:
    """Compare values[start:split] with values[split:end]; return t, freedom and relative change.

    The standard deviations are those of the population (divided by n), as in Hunter and Apache
    Otava. The change is the larger of both directions, 0 relative to a mean of 0. `exact` measures
    from a value of the series, so that two equal constants are equal at any level. For two points,
    or two equal constants, t is 0.
    """
    pivot = values[start] if exact else 0.0
    left, right = split - start, end - split
    mean_l, squares_l = mean_and_squares(values, start, split, pivot, scratch)
    mean_r, squares_r = mean_and_squares(values, split, end, pivot, scratch)
    forward = abs(mean_r / mean_l - 1.0) if mean_l != 0 else 0.0
    backward = abs(mean_l / mean_r - 1.0) if mean_r != 0 else 0.0
    change = max(forward, backward)
    if left + right == 2:
        return 0.0, 1.0, change
    freedom = left + right - 2.0
    deviation_l, deviation_r = math.sqrt(squares_l / left), math.sqrt(squares_r / right)
    pooled = ((left - 1.0) * deviation_l**2 + (right - 1.0) * deviation_r**2) / freedom
    t = (mean_l - mean_r) / math.sqrt(pooled * (1.0 / left + 1.0 / right))
    return 0.0 if exact and math.isnan(t) else t, freedom, change


@kernel
def weak_points(
    values: Floats,
    window: int,
    pvalue: float,
    exact: bool,
    workspace: WindowSpace,
    points: Ints,
    statistics: Floats,
) -> int:
    """Write the change points of all windows into `points`, their energies into `statistics`."""
    size = values.size
    count, start = 0, 0
    while start < size:
        end = min(start + window, size)
        part, more = values[start:end], points[count:]
        new = _divide(part, pvalue, exact, workspace, more, statistics[count:])
        last = 0
        for k in range(count, count + new):
            last = start + points[k]
            points[k] = last
        count += new
        start = max(last, start + window // 2)
    return count


@kernel
def _divide(
    window: Floats,
    pvalue: float,
    exact: bool,
    workspace: WindowSpace,
    points: Ints,
    statistics: Floats,
) -> int:
    """Divide a window until its best proposal is not significant; return the number of points.

    A part is identified by its first point, and keeps its proposal until it is divided.
    """
    ends, taus, energies = workspace.ends, workspace.taus, workspace.energies
    distances_back(window, workspace.earlier)
    part, fresh, count = 0, 0, 0
    ends[0] = window.size
    while True:
        # At first one part is new, later the two halves of the part that was divided.
        for new in range(part, fresh + 1, max(fresh - part, 1)):
            taus[new], energies[new] = _propose(window, new, ends[new], workspace)
        part = strongest(window.size, ends, energies)
        fresh = taus[part]
        if energies[part] < 0:
            break
        t, freedom, _ = t_test(window, part, fresh, ends[part], exact, workspace.scratch)
        if not significant(t, freedom, pvalue):
            break
        workspace.reached[fresh] = energies[part]
        ends[part], ends[fresh] = fresh, ends[part]
        count += 1
    part = 0
    for k in range(count):
        part = ends[part]
        points[k], statistics[k] = part, workspace.reached[part]
    return count


@kernel
def _propose(window: Floats, start: int, end: int, workspace: WindowSpace) -> tuple[int, float]:
    """Return the best division of a part and its energy, or -1 if it is too short.

    `earlier` holds the distances from each point back to the start of the window; the distances to
    points before the part are subtracted, in the order in which Apache Otava adds and rounds.
    """
    if end - start < 2:
        return start, -1.0
    part, columns, earlier = window[start:end], workspace.columns, workspace.earlier[start:end]
    for t in range(part.size):
        columns[t] = 0.0
    for i in range(start):
        add_distances(part, window[i], columns)
    for t in range(part.size):
        columns[t] = earlier[t] - columns[t]
    tau, energy = best_pair(part, columns, workspace.pairs)
    return start + tau, energy
