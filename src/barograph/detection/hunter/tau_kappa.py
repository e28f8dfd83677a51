"""The best pair (tau, kappa) of a stretch: Matteson and James's search, without a matrix.

For a stretch that starts at s, tau is where the second part starts and kappa where it ends; the
points after kappa are left out, so that a change that is soon reverted is compared with its past.
With within-part means over the pairs i < k (Daly et al. 2020, eq. 5) the statistic is

    Q(tau, kappa) =   2 / (kappa - s) * sum |x_i - y_j|
                    - 2 (kappa - tau) / ((kappa - s)(tau - s - 1)) * sum |x_i - x_k|
                    - 2 (tau - s) / ((kappa - s)(kappa - tau - 1)) * sum |y_j - y_k|

and a part of one point has no pairs. The sums follow from two kinds of partial sums: `columns[t]`,
the distances from t back to s, and `rows[t]`, those from t forward to kappa. Every sum adds the
points in their order, as Apache Otava does: rounding decides between two equally good divisions.
For speed, four ends kappa are computed side by side: four chains of additions take the time of one.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

Four = tuple[float, float, float, float]

ENDS = 4
# Factors are tabulated for parts up to this length; longer parts compute them each time.
TABULATED = 64
# Columns of the working space: four rows, right sums and energies (one for each end), then the
# sum within the left part, and the row of the last end computed.
RIGHT, ENERGY, WITHIN, CARRY, WIDTH = 4, 8, 12, 13, 14


class Lanes(NamedTuple):
    """Working space, the factors of four ends, and the table of factors."""

    work: Floats
    factors: Floats
    table: Floats


@kernel
def lanes(size: int, table: Floats) -> Lanes:
    """Allocate the working space for parts of up to `size` points; `table` is `factor_table()`."""
    length = size + ENDS
    return Lanes(np.empty((length, WIDTH)), np.empty((length, 2 * ENDS)), table)


@cache
def factor_table() -> Floats:
    """Tabulate the factors of parts up to TABULATED points, by block of ends and by tau."""
    table = np.zeros((TABULATED // ENDS, TABULATED + ENDS, 2 * ENDS))
    for block, factors in enumerate(table):
        _fill(2 + ENDS * block, factors)
    return table


@kernel
def _fill(first: int, factors: Floats) -> None:
    """Write the factors of the left and the right sums, for the ends from `first` on."""
    for tau in range(first + ENDS):
        for j in range(ENDS):
            width, left = float(first + j), float(tau)
            right = width - left
            inside = 0 < tau < first + j
            factors[tau, j] = 2.0 * right / (width * max(left - 1.0, 1.0)) if inside else 0.0
            mirrored = 2.0 * left / (width * max(right - 1.0, 1.0)) if inside else 0.0
            factors[tau, ENDS + j] = mirrored


@kernel
def best_pair(part: Floats, columns: Floats, workspace: Lanes) -> tuple[int, float]:
    """Return the tau of the largest Q of a part, counted from its start, and Q.

    Ties go to the smallest tau. The part needs two points.

    Args:
        part: The values.
        columns: For each t, the sum of |x_i - x_t| over i < t.
        workspace: Arrays that the kernel writes to.
    """
    size, work = part.size, workspace.work
    total = 0.0
    for t in range(size):
        work[t, WITHIN] = total
        if t > 0:
            total += columns[t]
    best, best_q = 1, -1.0
    for first in range(2, size + 1, ENDS):
        last = min(first + ENDS - 1, size)
        _sum_right(part, first, work)
        factors = workspace.factors
        if first + ENDS <= TABULATED:
            factors = workspace.table[(first - 2) // ENDS]
        else:
            _fill(first, factors)
        if not _evaluate(first, last, factors, work) >= best_q:
            continue
        for kappa in range(first, last + 1):
            for tau in range(1, kappa):
                q = work[tau, ENERGY + kappa - first]
                if q > best_q or (q == best_q and tau < best):
                    best, best_q = tau, q
    return best, best_q


@kernel
def _sum_right(part: Floats, first: int, work: Floats) -> None:
    """Lengthen the rows to four ends, and sum them from each tau on."""
    top = part.size - 1
    p, q = part[first - 1], part[min(first, top)]
    r, s = part[min(first + 1, top)], part[min(first + 2, top)]
    sums = (0.0, 0.0, 0.0, 0.0)
    for t in range(first - 2, first + 3):
        work[t, CARRY] = 0.0
    # Of the points among the four ends, only the distances to later ends count.
    sums = _lengthen(first + 2, (0.0, 0.0, 0.0, 0.0), sums, work)
    sums = _lengthen(first + 1, (0.0, 0.0, 0.0, abs(r - s)), sums, work)
    sums = _lengthen(first, (0.0, 0.0, abs(q - r), abs(q - s)), sums, work)
    for t in range(first - 1, -1, -1):
        x = part[t]
        distances = (abs(x - p), abs(x - q), abs(x - r), abs(x - s))
        sums = _lengthen(t, distances, sums, work)


@kernel
def _lengthen(place: int, distances: Four, sums: Four, work: Floats) -> Four:
    """Add to the row of a point its distances to four ends, and the row to the right sums."""
    # Unsigned, so that the compiler need not ask whether it counts from the end.
    t = np.uint64(place)
    to_p = work[t, CARRY] + distances[0]
    to_q = to_p + distances[1]
    to_r = to_q + distances[2]
    to_s = to_r + distances[3]
    a, b, c, d = sums[0] + to_p, sums[1] + to_q, sums[2] + to_r, sums[3] + to_s
    work[t, 0], work[t, 1], work[t, 2], work[t, 3] = to_p, to_q, to_r, to_s
    work[t, RIGHT], work[t, RIGHT + 1], work[t, RIGHT + 2], work[t, RIGHT + 3] = a, b, c, d
    work[t, CARRY] = to_s
    return a, b, c, d


@kernel
def _evaluate(first: int, last: int, factors: Floats, work: Floats) -> float:
    """Compute Q for four ends and every tau before them; return the largest, or a little more."""
    scale_a, scale_b = 2.0 / first, 2.0 / (first + 1)
    scale_c, scale_d = 2.0 / (first + 2), 2.0 / (first + 3)
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    high_a, high_b, high_c, high_d = -1.0, -1.0, -1.0, -1.0
    for t in range(last):
        within = work[t, WITHIN]
        q = scale_a * (a - within) - factors[t, 0] * within - factors[t, 4] * work[t, RIGHT]
        work[t, ENERGY], high_a = q, max(high_a, q)
        q = scale_b * (b - within) - factors[t, 1] * within - factors[t, 5] * work[t, RIGHT + 1]
        work[t, ENERGY + 1], high_b = q, max(high_b, q)
        q = scale_c * (c - within) - factors[t, 2] * within - factors[t, 6] * work[t, RIGHT + 2]
        work[t, ENERGY + 2], high_c = q, max(high_c, q)
        q = scale_d * (d - within) - factors[t, 3] * within - factors[t, 7] * work[t, RIGHT + 3]
        work[t, ENERGY + 3], high_d = q, max(high_d, q)
        a += work[t, 0]
        b += work[t, 1]
        c += work[t, 2]
        d += work[t, 3]
    return max(high_a, high_b, high_c, high_d)
