"""Search long series in stretches: the newest results, back to a known change point.

Daly et al. 2020, 4: the analysis uses up to 500 points, extended to a change point that is already
known beyond them. What is known here depends on the values alone, never on earlier searches: a
series is divided from its start, and each stretch begins at a change point of the stretch before.
So results in any order of arrival lead to the same change points, and the time is linear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from barograph.detection.base import Detector, RawChangePoint, describe
from barograph.results.series import ChangePoint, Floats, Ints

RECENT = 500


def detect_recent(
    detector: Detector,
    values: Floats,
    offsets: Ints,
    *,
    recent: int = RECENT,
) -> list[list[ChangePoint]]:
    """Find the change points of many series; of long ones, stretch by stretch.

    A series of fewer than 2 * `recent` points is searched as a whole. Of a longer one, the last
    stretch has at least `recent` points and fewer than twice as many. A stretch begins at a
    change point if there is one in the half of `recent` points before; the regions before and
    after the change points are those of the whole series.

    Args:
        detector: Any detector.
        values: The finite values of all series, one after the other.
        offsets: Series k owns the values offsets[k] to offsets[k + 1].
        recent: Number of the newest points that are always searched together.

    Returns:
        The change points of each series.

    Example:
        >>> from barograph.detection import Hunter
        >>> values = np.tile([1.0, 1.1], 60) + np.repeat([0.0, 2.0, 5.0], 40)
        >>> [points] = detect_recent(Hunter(), values, np.array([0, 120]), recent=30)
        >>> [point.index for point in points]
        [40, 80]
    """
    edges = offsets.tolist()
    starts = edges[:-1]
    points_by_series: list[list[RawChangePoint]] = [[] for _ in starts]
    active = list(range(len(starts)))
    while active:
        ends = [min(starts[k] + 2 * recent, edges[k + 1]) for k in active]
        parts = [values[starts[k] : end] for k, end in zip(active, ends, strict=True)]
        sizes = np.cumsum([0, *(part.size for part in parts)], dtype=np.int64)
        going_on = []
        searched = detector.find_many(np.concatenate(parts), sizes)
        for k, points in zip(active, searched, strict=True):
            start, is_last = starts[k] - edges[k], edges[k + 1] - starts[k] < 2 * recent
            cut = 2 * recent if is_last else cut_of([point.index for point in points], recent)
            points_by_series[k] += [
                replace(point, index=start + point.index) for point in points if point.index <= cut
            ]
            if not is_last:
                starts[k] += cut
                going_on.append(k)
        active = going_on
    return [
        describe(values[a:b], np.arange(b - a), points)
        for (a, b), points in zip(pairwise(edges), points_by_series, strict=True)
    ]


def cut_of(indices: Sequence[int], recent: int) -> int:
    """Return where the next stretch begins: at the last change point before the recent points.

    Without a change point in the second half of the points before, the next stretch begins so that
    the change point after it has at least a quarter of `recent` points before it.

    Args:
        indices: The change points of a stretch of 2 * `recent` points.
        recent: Number of points after the latest possible cut.

    Example:
        >>> cut_of([100, 300, 460, 700], 500), cut_of([100, 700], 500), cut_of([100, 510], 500)
        (460, 500, 385)
    """
    known = [index for index in indices if recent // 2 <= index <= recent]
    if known:
        return max(known)
    following = min((index for index in indices if index > recent), default=2 * recent)
    return max(recent // 2, min(recent, following - recent // 4), 1)
