"""Agreement of found change points with known ones (Fleming et al. 2023, 4.3)."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from barograph.results.series import Ints
from barograph.runtime.errors import ConfigError


class Counts(NamedTuple):
    """The numbers of true, false and missed change points."""

    tp: int
    fp: int
    fn: int

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 1 if there is nothing and none is found."""
        return _share(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def printed_rand(self) -> float:
        """The papers' "Rand index": with TN = 0 it is TP / (TP + FP + FN), the Jaccard index."""
        return _share(self.tp, self.tp + self.fp + self.fn)


def pairs(reported: Iterable[int], truth: Iterable[int], margin: int) -> list[tuple[int, int]]:
    """Pair found and true points at most `margin` apart: each at most once, as many as possible.

    The paper marks a true point as visited so that it counts once. All margins are equal, so
    pairing both in order gives the largest number of pairs.
    """
    if margin < 0:
        raise ConfigError(f"margin must be 0 or more points, got {margin}")
    matched: list[tuple[int, int]] = []
    waiting = iter(sorted(set(truth)))
    known = next(waiting, None)
    for point in sorted(set(reported)):
        while known is not None and known < point - margin:
            known = next(waiting, None)
        if known is not None and known <= point + margin:
            matched.append((point, known))
            known = next(waiting, None)
    return matched


def count(reported: Iterable[int], truth: Iterable[int], margin: int) -> Counts:
    """Count the pairs of `pairs` and the unpaired points on both sides."""
    points, changes = set(reported), set(truth)
    tp = len(pairs(points, changes, margin))
    return Counts(tp, len(points) - tp, len(changes) - tp)


def rand_index(reported: Iterable[int], truth: Iterable[int], length: int) -> float:
    """Return the true Rand index of two segmentations of `length` points.

    It is the share of all pairs of points that both put into one segment, or both into two. There
    is no margin, but a near miss costs little. It is 1 for fewer than two points.
    """
    if length < 2:
        return 1.0
    a, b = _segments(reported, length), _segments(truth, length)
    together = np.bincount(a * (int(b.max()) + 1) + b)
    disagree = _pairs_within(np.bincount(a)) + _pairs_within(np.bincount(b))
    disagree -= 2 * _pairs_within(together)
    return 1.0 - disagree / (length * (length - 1) / 2)


def _segments(points: Iterable[int], length: int) -> Ints:
    starts = np.zeros(length, dtype=np.int64)
    for point in points:
        if not 0 < point < length:
            raise ConfigError(f"change point {point} lies outside 1..{length - 1}")
        starts[point] = 1
    segments: Ints = np.cumsum(starts)
    return segments


def _pairs_within(sizes: Ints) -> float:
    return float((sizes * (sizes - 1) // 2).sum())


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
