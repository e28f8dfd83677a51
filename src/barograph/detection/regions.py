"""Describe the regions between change points, all in one pass."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from barograph.compiled import kernel
from barograph.detection.numerics import mean_and_squares
from barograph.series import Floats, Ints, Region


def regions(values: Floats, indices: Sequence[int]) -> list[Region]:
    """Return the regions before, between and after the change points, as `Region.of` does."""
    edges = [0, *indices, values.size]
    ordered = values.copy()
    for a, b in pairwise(edges):
        ordered[a:b].sort()
    rows = _describe(values, ordered, np.array(edges, dtype=np.int64)).tolist()
    return [Region(b - a, *row) for (a, b), row in zip(pairwise(edges), rows, strict=True)]


@kernel
def _describe(values: Floats, ordered: Floats, edges: Ints) -> Floats:
    """Return min, max, median, mean and variance of each stretch; `ordered` is sorted in each."""
    rows = np.empty((edges.size - 1, 5))
    scratch = np.empty(values.size)
    for k in range(edges.size - 1):
        a, b = edges[k], edges[k + 1]
        size = b - a
        mean, squares = mean_and_squares(values, a, b, 0.0, scratch)
        rows[k, 0], rows[k, 1] = ordered[a], ordered[b - 1]
        rows[k, 2] = (ordered[a + (size - 1) // 2] + ordered[a + size // 2]) / 2
        rows[k, 3] = mean
        rows[k, 4] = squares / (size - 1) if size > 1 else 0.0
    return rows
