"""The energy statistic as the papers write it, from the whole distance matrix."""

import numpy as np

from barograph.results.series import Floats


def split_statistic(values: Floats) -> Floats:
    """Daly et al. 2020, eq. 6, with means over all n^2 pairs of a part."""
    size = values.size
    distances = np.abs(values[:, None] - values)
    statistic = np.zeros(size)
    for n in range(1, size):
        m = size - n
        between = distances[:n, n:].mean()
        within = distances[:n, :n].mean() + distances[n:, n:].mean()
        statistic[n] = n * m / size * (2 * between - within)
    return statistic
