"""Hunter as the papers write it, slow and plain: what the compiled one is tested against."""

from itertools import pairwise

import numpy as np
from scipy import stats

from barograph.results.series import Floats


def energy(left: Floats, right: Floats) -> float:
    """Daly et al. 2020, eq. 5 and 6, with alpha = 1; a side of one point has no pairs."""
    n, m = left.size, right.size
    between = 2 / (n * m) * np.abs(left[:, None] - right).sum()
    return float(n * m / (n + m) * (between - within(left) - within(right)))


def within(part: Floats) -> float:
    pairs = part.size * (part.size - 1) / 2
    return float(np.abs(part[:, None] - part).sum() / 2 / pairs) if pairs else 0.0


def best_pair(values: Floats) -> tuple[int, float]:
    """The tau of the largest Q(tau, kappa), and Q."""
    size = values.size
    energies = {
        (tau, kappa): energy(values[:tau], values[tau:kappa])
        for tau in range(1, size)
        for kappa in range(tau + 1, size + 1)
    }
    best = max(energies, key=lambda pair: energies[pair])
    return best[0], energies[best]


def pvalue(left: Floats, right: Floats) -> float:
    if left.size + right.size == 2:
        return 1.0
    test = stats.ttest_ind_from_stats(
        left.mean(), left.std(), left.size, right.mean(), right.std(), right.size
    )
    return float(test.pvalue)


def change(left: Floats, right: Floats) -> float:
    a, b = left.mean(), right.mean()
    return float(max(abs(b / a - 1), abs(a / b - 1)))


def divide(window: Floats, limit: float) -> list[int]:
    points: list[int] = []
    while True:
        edges = [0, *points, window.size]
        proposals = [(a, *best_pair(window[a:b])) for a, b in pairwise(edges) if b - a > 1]
        if not proposals:
            return points
        a, tau, _ = max(proposals, key=lambda proposal: proposal[2])
        b = min(edge for edge in edges if edge > a)
        if not pvalue(window[a : a + tau], window[a + tau : b]) <= limit:
            return points
        points = sorted([*points, a + tau])


def hunter(values: Floats, window: int, limit: float, magnitude: float) -> list[int]:
    first = 10 * limit if limit < 0.05 else 2 * limit
    points: list[int] = []
    start = 0
    while start < values.size:
        new = [start + k for k in divide(values[start : start + window], first)]
        points += new
        start = max([start + window // 2, *new])
    while points:
        parts = np.split(values, points)
        pvalues = [pvalue(a, b) for a, b in pairwise(parts)]
        changes = [change(a, b) for a, b in pairwise(parts)]
        if max(pvalues) >= limit:
            del points[int(np.argmax(pvalues))]
        elif min(changes) <= magnitude:
            del points[int(np.argmin(changes))]
        else:
            break
    return points
