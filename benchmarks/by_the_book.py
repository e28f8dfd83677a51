"""The energy statistic as it grew in Daly et al. 2020, section 4: naive, row and column, NumPy."""

from typing import Any

import numpy as np

from barograph.results.series import Floats


def naive(values: list[float]) -> list[float]:
    """Sum all pairs again for every division: O(n^3)."""
    size = len(values)
    statistic = [0.0] * size
    for n in range(1, size):
        between = sum(abs(x - y) for x in values[:n] for y in values[n:])
        left = sum(abs(x - y) for x in values[:n] for y in values[:n]) / 2
        right = sum(abs(x - y) for x in values[n:] for y in values[n:]) / 2
        statistic[n] = weighted(between, left, right, n, size - n)
    return statistic


def row_and_column(values: list[float]) -> list[float]:
    """Move one point from right to left, and its row and column of the matrix with it: O(n^2)."""
    size = len(values)
    matrix = [[abs(x - y) for y in values] for x in values]
    statistic = [0.0] * size
    between, left, right = 0.0, 0.0, sum(map(sum, matrix)) / 2
    for n in range(1, size):
        column, row = sum(matrix[n - 1][:n]), sum(matrix[n - 1][n:])
        between, left, right = between - column + row, left + column, right - row
        statistic[n] = weighted(between, left, right, n, size - n)
    return statistic


def with_numpy(values: Floats) -> Floats:
    """Do the same with arrays."""
    size = values.size
    matrix = np.abs(values[:, None] - values)
    columns, rows = np.tril(matrix).sum(axis=1)[:-1], np.triu(matrix).sum(axis=1)[:-1]
    left, total = columns.cumsum(), matrix.sum() / 2
    right = total - rows.cumsum()
    n = np.arange(1, size)
    statistic = np.zeros(size)
    statistic[1:] = weighted(total - left - right, left, right, n, size - n)
    return statistic


def weighted(between: Any, left: Any, right: Any, n: Any, m: Any) -> Any:
    """Return the statistic from the sums over pairs (means over n^2, as in MongoDB's library)."""
    return 2 / (n + m) * (between - left * m / n - right * n / m)
