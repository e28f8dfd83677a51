"""Hunter's first step: E-Divisive in overlapping windows, with a t-test.

Fleming et al. 2023, 3.2 to 3.4. A window is divided as long as its best proposal is significant.
The next window starts half a window later, or at the last change point found if that is later, so
that no change point is on an edge and none is found twice.
"""

import math
from typing import NamedTuple

import numpy as np

from barograph.detection.edivisive.divide import strongest
from barograph.detection.edivisive.energy import add_distances, distances_back
from barograph.detection.hunter.tau_kappa import PairSpace, best_pair, pair_space
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
