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
"""

from barograph.results.series import Floats
from barograph.runtime.compiled import kernel


@kernel
def best_pair(part: Floats, columns: Floats, sums: Floats) -> tuple[int, float]:
    """Return the tau of the largest Q of a part, counted from its start, and Q.

    Ties go to the smallest tau. The part needs two points.

    Args:
        part: The values.
        columns: For each t, the sum of |x_i - x_t| over i < t.
        sums: Working space: three rows of at least as many numbers as the part has points.
    """
    within, rows, right = sums[0], sums[1], sums[2]
    total = 0.0
    for t in range(part.size):
        rows[t], within[t] = 0.0, total
        if t > 0:
            total += columns[t]
    best, best_q = 1, -1.0
    for width in range(2, part.size + 1):
        _lengthen(part[:width], rows, right)
        scale, between = 2.0 / width, rows[0]
        for tau in range(1, width):
            n, m = float(tau), float(width - tau)
            left = 2.0 * m / (width * max(n - 1.0, 1.0)) * within[tau]
            q = scale * (between - within[tau]) - left
            q -= 2.0 * n / (width * max(m - 1.0, 1.0)) * right[tau]
            if q > best_q or (q == best_q and tau < best):
                best, best_q = tau, q
            between += rows[tau]
    return best, best_q


@kernel
def _lengthen(part: Floats, rows: Floats, right: Floats) -> None:
    """Add the last point of a part to the row of each, and sum the rows from each on."""
    total, last = 0.0, part[-1]
    for t in range(part.size - 1, -1, -1):
        rows[t] += abs(part[t] - last)
        total += rows[t]
        right[t] = total
