"""The best pair (tau, kappa) of a stretch: Matteson and James's search, without a matrix.

For a stretch that starts at s, tau is where the second part starts and kappa where it ends; what
follows kappa is left out, so a change that is soon undone stands against what was before it. With
within-part means over the pairs i < k (Daly et al. 2020, eq. 5) the statistic is

    Q(tau, kappa) =   2 / (kappa - s) * sum |x_i - y_j|
                    - 2 (kappa - tau) / ((kappa - s)(tau - s - 1)) * sum |x_i - x_k|
                    - 2 (tau - s) / ((kappa - s)(kappa - tau - 1)) * sum |y_j - y_k|

and a part of one point has no pairs. The sums follow from two kinds of partial sums: `columns[t]`,
the distances from t back to s, and `rows[t]`, those from t forward to kappa.
"""

from barograph.compiled import kernel
from barograph.series import Floats


@kernel
def add_distances(values: Floats, i: int, start: int, end: int, sums: Floats) -> None:
    """Add |values[i] - values[t]| to sums[t] for t in [start, end)."""
    pivot = values[i]
    for t in range(start, end):
        sums[t] += abs(values[t] - pivot)


@kernel
def add_powers(values: Floats, i: int, start: int, end: int, alpha: float, sums: Floats) -> None:
    """Add |values[i] - values[t]|^alpha to sums[t] for t in [start, end)."""
    pivot = values[i]
    for t in range(start, end):
        sums[t] += abs(values[t] - pivot) ** alpha


@kernel
def best_pair(
    values: Floats,
    start: int,
    end: int,
    least: int,
    alpha: float,
    columns: Floats,
    rows: Floats,
    scratch: Floats,
) -> tuple[int, float]:
    """Return the tau of the largest Q in values[start:end], and Q.

    Ties go to the smallest tau. The stretch needs twice `least` points.

    Args:
        values: the values.
        start: where the stretch starts, s above.
        end: where it ends.
        least: the fewest points of a part.
        alpha: the power of the distances.
        columns: for each t, the sum of |x_i - x_t|^alpha over start <= i < t.
        rows: room for one number per value.
        scratch: room for three numbers per value.
    """
    size = values.size
    within, forward, backward = scratch[:size], scratch[size : 2 * size], scratch[2 * size :]
    total = 0.0
    for tau in range(start + 1, end):
        within[tau] = total
        total += columns[tau]
        rows[tau - 1] = 0.0
    best, best_q = start + least, -1.0
    for kappa in range(start + 2, end + 1):
        if alpha == 1.0:
            add_distances(values, kappa - 1, start, kappa - 1, rows)
        else:
            add_powers(values, kappa - 1, start, kappa - 1, alpha, rows)
        if kappa - start < 2 * least:
            continue
        _cumulate(rows, start, kappa, forward, backward)
        width = float(kappa - start)
        scale = 2.0 / width
        for tau in range(start + least, kappa - least + 1):
            left, right = float(tau - start), float(kappa - tau)
            q = scale * (forward[tau] - within[tau])
            q -= 2.0 * right / (width * max(left - 1.0, 1.0)) * within[tau]
            q -= 2.0 * left / (width * max(right - 1.0, 1.0)) * backward[tau]
            forward[tau] = q
        for tau in range(start + least, kappa - least + 1):
            if forward[tau] > best_q or (forward[tau] == best_q and tau < best):
                best, best_q = tau, forward[tau]
    return best, best_q


@kernel
def _cumulate(rows: Floats, start: int, kappa: int, forward: Floats, backward: Floats) -> None:
    """Sum the rows before each tau, and from each tau on (a part of one point has none)."""
    before, after = 0.0, 0.0
    last = kappa - 1
    backward[last] = 0.0
    for step in range(last - start):
        before += rows[start + step]
        forward[start + step + 1] = before
        after += rows[last - 1 - step]
        backward[last - 1 - step] = after
