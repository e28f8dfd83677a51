"""Hunter's first step: E-Divisive in overlapping windows, with a t-test.

Fleming et al. 2023, 3.2 to 3.4. A window is divided as long as its best proposal is significant.
The next window starts half a window later, or at the last change point found if that is later, so
that no change point is on an edge and none is found twice.

A part is divided at its best pair (tau, kappa), Matteson and James's search without a matrix.
For a stretch that starts at s, tau is where the second part starts and kappa where it ends; the
points after kappa are left out, so that a change that is soon reverted is compared with its past.
With within-part means over the pairs i < k (Daly et al. 2020, eq. 5) the statistic is

    Q(tau, kappa) =   2 / (kappa - s) * sum |x_i - y_j|
                    - 2 (kappa - tau) / ((kappa - s)(tau - s - 1)) * sum |x_i - x_k|
                    - 2 (tau - s) / ((kappa - s)(kappa - tau - 1)) * sum |y_j - y_k|

and a part of one point has no pairs. The sums follow from two kinds of partial sums: `columns[t]`,
the distances from t back to s, and `rows[t]`, those from t forward to kappa. Every sum adds the
points in their order, as Apache Otava does: rounding decides between two equally good divisions.
"""

import math
from typing import NamedTuple

import numpy as np

from barograph.detection.edivisive.divide import strongest
from barograph.detection.edivisive.energy import add_distances, distances_back
from barograph.detection.numerics import mean_and_squares, significant
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel


class WindowSpace(NamedTuple):
    """Working space for windows of one length: for each point the part it starts, and sums."""

    ends: Ints
    taus: Ints
    energies: Floats
    reached: Floats
    earlier: Floats
    columns: Floats
    scratch: Floats
    sums: Floats


@kernel
def workspace(size: int) -> WindowSpace:
    """Allocate the working space for windows of up to `size` points."""
    ends, taus = np.empty(size, np.int64), np.empty(size, np.int64)
    energies, reached, earlier = np.empty(size), np.empty(size), np.empty(size)
    columns, scratch, sums = np.empty(size), np.empty(size), np.empty((3, size))
    return WindowSpace(ends, taus, energies, reached, earlier, columns, scratch, sums)


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
    tau, energy = best_pair(part, columns, workspace.sums)
    return start + tau, energy


@kernel
def best_pair(part: Floats, columns: Floats, sums: Floats) -> tuple[int, float]:
    """Return the tau of the largest Q of a part, counted from its start, and Q.

    Ties go to the smallest tau. The part needs two points.

    Args:
        part: The values.
        columns: For each t, the sum of |x_i - x_t| over i < t.
        sums: Working space of three rows: the sum of all pairs before each point, and up to the
            end in question, the distances from each point forward and their sum from it on.
    """
    within, rows, right = sums[0], sums[1], sums[2]
    total = 0.0
    for t in range(part.size):
        within[t], rows[t] = total, 0.0
        if t > 0:
            total += columns[t]
    best, best_q = 1, -1.0
    for kappa in range(2, part.size + 1):
        last = part[kappa - 1]
        for t in range(kappa - 1):
            rows[t] += abs(part[t] - last)
        total = 0.0
        for t in range(kappa - 2, -1, -1):
            total += rows[t]
            right[t] = total
        right[kappa - 1] = 0.0
        tau, q = _best_tau(float(kappa), within[:kappa], rows[:kappa], right[:kappa])
        if q > best_q or (q == best_q and tau < best):
            best, best_q = tau, q
    return best, best_q


@kernel
def _best_tau(width: float, within: Floats, rows: Floats, right: Floats) -> tuple[int, float]:
    """Return the best tau for one end, which leaves `width` points, and its Q."""
    best, best_q = 1, -np.inf
    left = rows[0]
    for tau in range(1, within.size):
        first, second = float(tau), width - tau
        of_left = 2.0 * second / (width * max(first - 1.0, 1.0))
        of_right = 2.0 * first / (width * max(second - 1.0, 1.0))
        q = 2.0 / width * (left - within[tau]) - of_left * within[tau] - of_right * right[tau]
        if q > best_q:
            best, best_q = tau, q
        left += rows[tau]
    return best, best_q
