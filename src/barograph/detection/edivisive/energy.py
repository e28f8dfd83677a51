"""The energy statistic of every division of a series, without a distance matrix.

With D(i, j) = |x_i - x_j|, let R(t) be the sum of D(t, j) over all j, and c(t) that over
j < t. R does not depend on the order of the points, and moves with its point when they are
permuted. Then the left part [0, t) holds X(t) = c(0) + ... + c(t-1), both parts share

    XY(t) = R(0) + ... + R(t-1) - 2 X(t),

and the right part holds the rest of the total. R follows from one sort, and c from a Fenwick tree
over the ranks (O(n log n)) or, for short series, from the half triangle of differences.
"""

import numpy as np

from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import fused_kernel, kernel, kernel_or

# Up to these lengths, the differences themselves beat the tree.
TINY, SHORT = 64, 400


@kernel
def divergence(left: float, between: float, right: float, odds: float, against: float) -> float:
    """Return (n + m) / 2 times the statistic, from the sums X, XY and Y over pairs.

    With the odds n / m of a point to be in the left part, the statistic nm / (n + m) times
    (2 XY / nm - 2 X / n^2 - 2 Y / m^2) is 2 / (n + m) times (XY - X m / n - Y n / m).
    """
    return between - left * against - right * odds


@kernel
def prepare(
    values: Floats, order: Ints, start: int, end: int, centred: Floats, ranks: Ints, totals: Floats
) -> float:
    """Fill [start, end) of three arrays: values less their median, ranks from 1, and R.

    Returns the sum over all pairs, which is half the sum of R.

    `order` sorts the whole series; points outside the stretch are skipped. The median goes
    first, because differences of running sums lose what the values have in common.
    """
    size = end - start
    rank, pivot, total = 0, 0.0, 0.0
    for i in order:
        if start <= i < end:
            rank += 1
            ranks[i] = rank
            if rank == (size + 1) // 2:
                pivot = values[i]
    for i in range(start, end):
        centred[i] = values[i] - pivot
        total += centred[i]
    below, rank = 0.0, 0
    for i in order:
        if start <= i < end:
            # `rank` points are before this one in order: their sum is `below`.
            totals[i] = centred[i] * (2 * rank - size) + total - 2.0 * below
            below += centred[i]
            rank += 1
    pairs = 0.0
    for i in range(start, end):
        pairs += 0.5 * totals[i]
    return pairs


@kernel
def reach(centred: Floats, ranks: Ints, tree: Floats, counts: Ints, earlier: Floats) -> None:
    """Fill earlier[t] with c(t), the distances from t back to the start of the stretch."""
    if centred.size <= TINY:
        distances_back(centred, earlier)
    elif centred.size <= SHORT:
        _by_differences(centred, earlier)
    else:
        _by_tree(centred, ranks, tree, counts, earlier)


def _distances_by_arrays(values: Floats, sums: Floats) -> None:
    """Do the same as `distances_back`: a running sum adds in order."""
    distances = np.tril(np.abs(values[:, np.newaxis] - values))
    sums[: values.size] = np.cumsum(distances, axis=1)[:, -1]


@kernel_or(_distances_by_arrays)
def distances_back(values: Floats, sums: Floats) -> None:
    """Fill sums[t] with the distances from t back to the start."""
    size = values.size
    sums[:size] = 0.0
    for i in range(size):
        for t in range(i + 1, size):
            sums[t] += abs(values[i] - values[t])


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
