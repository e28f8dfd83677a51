"""The energy statistic of every division of a series, without a distance matrix.

With D(i, j) = |x_i - x_j|^alpha, let R(t) be the sum of D(t, j) over all j, and c(t) that over
j < t. R does not depend on the order of the points, and moves with its point when they are
permuted. Then the left part [0, t) holds X(t) = c(0) + ... + c(t-1), both parts share

    XY(t) = R(0) + ... + R(t-1) - 2 X(t),

and the right part holds the rest of the total. For alpha = 1, R follows from one sort, and c from
a Fenwick tree over the ranks (O(n log n)) or, for short series, from the half triangle of
differences.
"""

import numpy as np
import numpy.typing as npt

from barograph.detection.base import observe, require
from barograph.detection.numerics import power_of_two
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import fused_kernel, kernel, kernel_or

# Up to these lengths, the differences themselves beat the tree: for four points side by side, or
# several differences of one point at a time.
TINY, SHORT = 64, 400
ENDS = 4  # points whose distances are summed side by side
# Above this magnitude sums of distances, to any power below 2, might overflow.
LARGE = 1e150


def energy_statistic(values: npt.ArrayLike, alpha: float = 1.0) -> Floats:
    """Return the test statistic of every division; entry t divides before point t, entry 0 is 0.

    This is Daly et al. 2020, eq. 6, with the means inside a part over all n^2 pairs, as in
    MongoDB's library, so that a part of one point is defined. It takes O(n log n) time for
    alpha = 1, O(n^2) otherwise, and O(n) memory.

    Args:
        values: Finite numbers.
        alpha: Power of the distances, above 0 and below 2 (at 2, only means are compared).
    """
    require(0 < alpha < 2, "alpha", alpha, "above 0 and below 2")
    series, _ = observe(values)
    size = series.size
    statistic, work, ranks = (
        np.zeros(size),
        np.empty((4, size + 1)),
        np.empty(2 * size + 1, np.int64),
    )
    if size > 1:
        order = np.argsort(series)
        peak = max(-float(series[order[0]]), float(series[order[-1]]))
        if peak > LARGE:
            return _of_huge(series, alpha)
        _statistic(series, order, alpha, work, ranks, statistic)
    return statistic


def _of_huge(series: Floats, alpha: float) -> Floats:
    """Divide the values by a power of two first; a result too large for a double is infinite."""
    unit = power_of_two(series)
    scaled = energy_statistic(series / unit, alpha)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(scaled == 0.0, 0.0, scaled * np.float64(unit) ** alpha)


@kernel
def _statistic(
    values: Floats, order: Ints, alpha: float, work: Floats, ranks: Ints, statistic: Floats
) -> None:
    size = values.size
    centred, totals, earlier, tree = work[0], work[1], work[2], work[3]
    prepare(values, order, 0, size, alpha, centred, ranks, totals)
    reach(centred[:size], ranks[:size], alpha, tree, ranks[size:], earlier[:size])
    # The right part is summed from its own end: at one point it has no pairs, to the bit.
    right = tree
    right[size - 1] = 0.0
    for t in range(size - 2, 0, -1):
        right[t] = right[t + 1] + (totals[t] - earlier[t])
    left, rows = 0.0, 0.0
    for t in range(1, size):
        left += earlier[t - 1]
        rows += totals[t - 1]
        n, m = float(t), float(size - t)
        statistic[t] = divergence(left, rows - 2.0 * left, right[t], n / m, m / n) / (0.5 * size)


@kernel
def divergence(left: float, between: float, right: float, odds: float, against: float) -> float:
    """Return (n + m) / 2 times the statistic, from the sums X, XY and Y over pairs.

    With the odds n / m of a point to be in the left part, the statistic nm / (n + m) times
    (2 XY / nm - 2 X / n^2 - 2 Y / m^2) is 2 / (n + m) times (XY - X m / n - Y n / m).
    """
    return between - left * against - right * odds


@kernel
def prepare(
    values: Floats,
    order: Ints,
    start: int,
    end: int,
    alpha: float,
    centred: Floats,
    ranks: Ints,
    totals: Floats,
) -> float:
    """Fill [start, end) of three arrays: values less their median, ranks from 1, and R.

    Returns the sum over all pairs, which is half the sum of R.

    `order` sorts the whole series; points outside the stretch are skipped. The median goes
    first, because differences of running sums lose what the values have in common; other powers
    than 1 take every difference by itself, and lose nothing.
    """
    size = end - start
    rank, pivot, total = 0, 0.0, 0.0
    for i in order:
        if start <= i < end:
            rank += 1
            ranks[i] = rank
            if rank == (size + 1) // 2 and alpha == 1.0:
                pivot = values[i]
    for i in range(start, end):
        centred[i] = values[i] - pivot
        total += centred[i]
    if alpha != 1.0:
        for i in range(start, end):
            totals[i] = power_sum(centred, start, end, centred[i], alpha)
    below, rank = 0.0, 0
    for i in order:
        if start <= i < end and alpha == 1.0:
            # `rank` points are before this one in order: their sum is `below`.
            totals[i] = centred[i] * (2 * rank - size) + total - 2.0 * below
            below += centred[i]
            rank += 1
    pairs = 0.0
    for i in range(start, end):
        pairs += 0.5 * totals[i]
    return pairs


@kernel
def reach(
    centred: Floats, ranks: Ints, alpha: float, tree: Floats, counts: Ints, earlier: Floats
) -> None:
    """Fill earlier[t] with c(t), the distances from t back to the start of the stretch."""
    size = centred.size
    if alpha != 1.0:
        for t in range(size):
            earlier[t] = power_sum(centred, 0, t, centred[t], alpha)
    elif size <= TINY:
        distances_back(centred, earlier)
    elif size <= SHORT:
        _by_differences(centred, earlier)
    else:
        _by_tree(centred, ranks, tree, counts, earlier)


def _distances_by_arrays(values: Floats, sums: Floats) -> None:
    """Do the same as `distances_back`: a running sum adds in order."""
    distances = np.tril(np.abs(values[:, np.newaxis] - values))
    sums[: values.size] = np.cumsum(distances, axis=1)[:, -1]


@kernel_or(_distances_by_arrays)
def distances_back(values: Floats, sums: Floats) -> None:
    """Fill sums[t] with the distances from t back to the start, for four points side by side."""
    size = values.size
    for block in range(0, size, ENDS):
        # The last four points, where fewer are left: those in both blocks are summed twice.
        t = max(min(block, size - ENDS), 0)
        p, q = values[t], values[min(t + 1, size - 1)]
        r, s = values[min(t + 2, size - 1)], values[min(t + 3, size - 1)]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for i in range(t):
            x = values[i]
            a += abs(x - p)
            b += abs(x - q)
            c += abs(x - r)
            d += abs(x - s)
        sums_of_three = (a, b + abs(p - q), c + abs(p - r) + abs(q - r))
        for j in range(min(ENDS - 1, size - t)):
            sums[t + j] = sums_of_three[j]
        if size >= ENDS:
            sums[t + 3] = d + abs(p - s) + abs(q - s) + abs(r - s)


@kernel
def add_distances(values: Floats, pivot: float, sums: Floats) -> None:
    """Add |x - pivot| to the sum of each value."""
    for t in range(values.size):
        sums[t] += abs(values[t] - pivot)


@kernel_or(_distances_by_arrays)
def _by_differences(values: Floats, sums: Floats) -> None:
    """Compute c(t) from the differences of one point after another."""
    for t in range(values.size):
        sums[t] = distance_sum(values, t, values[t])


@fused_kernel
def distance_sum(values: Floats, end: int, pivot: float) -> float:
    """Sum |x - pivot| over values[:end], several at a time."""
    total = 0.0
    for i in range(end):
        total += abs(values[i] - pivot)
    return total


@kernel
def power_sum(values: Floats, start: int, end: int, pivot: float, alpha: float) -> float:
    """Sum |x - pivot|^alpha over values[start:end]."""
    total = 0.0
    for i in range(start, end):
        total += abs(values[i] - pivot) ** alpha
    return total


@kernel
def _by_tree(centred: Floats, ranks: Ints, tree: Floats, counts: Ints, earlier: Floats) -> None:
    """Compute c(t) from a Fenwick tree over ranks: how many points came before, and their sum."""
    size = centred.size
    for i in range(size + 1):
        tree[i], counts[i] = 0.0, 0
    total = 0.0
    for t in range(size):
        value, rank = centred[t], ranks[t]
        below, lower = 0, 0.0
        i = rank
        while i > 0:
            below += counts[i]
            lower += tree[i]
            i &= i - 1
        earlier[t] = value * (2 * below - t) + total - 2.0 * lower
        total += value
        i = rank
        while i <= size:
            counts[i] += 1
            tree[i] += value
            i += i & -i
