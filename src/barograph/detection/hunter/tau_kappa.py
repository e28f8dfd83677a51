"""The best pair (tau, kappa) of a stretch: Matteson and James's search.

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

from typing import NamedTuple

import numpy as np

from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

ENDS = 64  # ends that are examined together, which bounds the memory
# The factors of all sums, by kappa, and of the left and right sums, by tau and kappa, for parts
# shorter than ENDS; longer parts compute them each time.
_TAU, _KAPPA = np.arange(float(ENDS))[:, None], np.maximum(np.arange(float(ENDS)), 1.0)
ALL: Floats = 2.0 / _KAPPA
LEFT: Floats = 2.0 * (_KAPPA - _TAU) / (_KAPPA * np.maximum(_TAU - 1.0, 1.0))
RIGHT: Floats = 2.0 * _TAU / (_KAPPA * np.maximum(_KAPPA - _TAU - 1.0, 1.0))


class PairSpace(NamedTuple):
    """Working space: sums by point and end, by end, and by point."""

    rows: Floats
    rights: Floats
    left: Floats
    right: Floats
    carry: Floats


@kernel
def pair_space(size: int) -> PairSpace:
    """Allocate the working space for parts of up to `size` points."""
    rows, rights = np.empty((size, ENDS)), np.empty((size, ENDS))
    return PairSpace(rows, rights, np.empty(ENDS), np.empty(ENDS), np.empty(size))


@kernel
def best_pair(part: Floats, columns: Floats, space: PairSpace) -> tuple[int, float]:
    """Return the tau of the largest Q of a part, counted from its start, and Q.

    Ties go to the smallest tau. The part needs two points.

    Args:
        part: The values.
        columns: For each t, the sum of |x_i - x_t| over i < t.
        space: Arrays that the kernel writes to.
    """
    space.carry[: part.size] = 0.0
    best, best_q = 1, -1.0
    for first in range(1, part.size, ENDS):
        last = min(first + ENDS, part.size)
        _sum_rows(part, first, last, space)
        tau, q = _best_tau(columns, first, last, space)
        if q > best_q or (q == best_q and tau < best):
            best, best_q = tau, q
    return best, best_q


@kernel
def _sum_rows(part: Floats, first: int, last: int, space: PairSpace) -> None:
    """Fill the rows up to each end from `first` to before `last`, and their sums from the right."""
    right = space.right
    right[:] = 0.0
    for t in range(last - 1, -1, -1):
        x, row, rights, total = part[t], space.rows[t], space.rights[t], space.carry[t]
        for end in range(max(first, t), last):
            k = np.uint64(end - first)
            total += abs(x - part[end])
            row[k] = total
            right[k] += total
            rights[k] = right[k]
        space.carry[t] = total


@kernel
def _best_tau(columns: Floats, first: int, last: int, space: PairSpace) -> tuple[int, float]:
    """Return the tau of the largest Q up to these ends, and Q."""
    best, best_q = 1, -1.0
    within, before = 0.0, space.left
    before[:] = 0.0
    for tau in range(1, last):
        within += columns[tau - 1] if tau > 1 else 0.0
        row, after = space.rows[tau - 1], space.rights[tau]
        for end in range(max(first, tau), last):
            k, kappa = np.uint64(end - first), np.uint64(end + 1)
            if last < ENDS:
                both, left, right = ALL[kappa], LEFT[tau, kappa], RIGHT[tau, kappa]
            else:
                size = end + 1.0
                both, left = 2.0 / size, 2.0 * (size - tau) / (size * max(tau - 1.0, 1.0))
                right = 2.0 * tau / (size * max(size - tau - 1.0, 1.0))
            before[k] += row[k]
            q = both * (before[k] - within) - left * within - right * after[k]
            if q > best_q:
                best, best_q = tau, q
    return best, best_q
