"""The energy statistic as the papers write it, from the whole distance matrix."""

import numpy as np

from barograph.series import Floats


def split_statistic(values: Floats, alpha: float = 1.0) -> Floats:
    """Daly et al. 2020, eq. 6, with means over all n^2 pairs of a part."""
    size = values.size
    distances = np.abs(values[:, None] - values) ** alpha
    statistic = np.zeros(size)
    for n in range(1, size):
        m = size - n
        between = distances[:n, n:].mean()
        within = distances[:n, :n].mean() + distances[n:, n:].mean()
        statistic[n] = n * m / size * (2 * between - within)
    return statistic


def pair_statistic(values: Floats, least: int, alpha: float = 1.0) -> tuple[int, float]:
    """Matteson and James: the best tau over all ends kappa, with means over the pairs i < k."""
    distances = np.abs(values[:, None] - values) ** alpha
    best, best_q = 0, -np.inf
    for tau in range(least, values.size - least + 1):
        for kappa in range(tau + least, values.size + 1):
            n, m = tau, kappa - tau
            between = 2 * distances[:tau, tau:kappa].mean()
            left = distances[:tau, :tau].sum() / (n * (n - 1))
            right = distances[tau:kappa, tau:kappa].sum() / (m * (m - 1))
            q = n * m / (n + m) * (between - left - right)
            if q > best_q:
                best, best_q = tau, q
    return best, best_q
