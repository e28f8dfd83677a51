"""A series as one line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from barograph.series import Floats

BLOCKS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
MARK = "\u2502"  # where a level begins
WIDTH = 56


def sparkline(values: Floats, change_points: Sequence[int] = (), width: int = WIDTH) -> list[str]:
    """Return a stretch of blocks for each level; each block is the median of some results.

    Args:
        values: The results; there must be at least one.
        change_points: The indices at which levels begin, ascending.
        width: Number of characters of all stretches with a mark between them.

    Example:
        >>> import numpy as np
        >>> sparkline(np.array([1.0, 1.0, 1.0, 2.0, 2.0, 8.0]), [3, 5])
        ['▁▁▁', '▂▂', '█']
    """
    edges = [0, *change_points, values.size]
    room = max(width - len(change_points), len(edges) - 1)
    sizes = [
        max(1, round(room * (end - start) / values.size)) if values.size > room else end - start
        for start, end in pairwise(edges)
    ]
    results = values.tolist()
    medians = [
        [_median(results[a:b]) for a, b in pairwise(_cuts(start, end, size))]
        for (start, end), size in zip(pairwise(edges), sizes, strict=True)
    ]
    shown = [value for part in medians for value in part]
    low, extent = min(shown), max(shown) - min(shown)
    if not extent or not math.isfinite(extent):
        return ["".join(BLOCKS[0] for _ in part) for part in medians]
    top = len(BLOCKS) - 1
    return ["".join(BLOCKS[round(top * (v - low) / extent)] for v in part) for part in medians]


def _cuts(start: int, end: int, count: int) -> list[int]:
    """Return the edges of `count` stretches of about the same size."""
    return [start + k * (end - start) // count for k in range(count + 1)]


def _median(results: list[float]) -> float:
    """Return the median; NumPy is slower for a handful of numbers."""
    ordered, size = sorted(results), len(results)
    return 0.5 * (ordered[(size - 1) // 2] + ordered[size // 2])
