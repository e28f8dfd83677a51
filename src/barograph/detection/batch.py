"""Detection over many series: on several threads, and in stretches of long series."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from barograph.detection.base import Detector, RawChangePoint, checked, describe, require
from barograph.results.series import ChangePoint, Floats, Ints, as_floats
from barograph.runtime.errors import DataError
from barograph.runtime.parallel import Progress, map_threads

# Points per chunk: enough that a thread rarely waits for the interpreter.
PIECE = 100_000
# Daly et al. 2020, 4: the analysis uses up to 500 points, extended to a change point that is
# already known beyond them.
RECENT = 500


def detect_many(
    detector: Detector,
    values: npt.ArrayLike,
    offsets: npt.ArrayLike,
    *,
    workers: int | None = None,
    label: str = "",
) -> list[list[ChangePoint]]:
    """Find the change points of many series whose values are joined in one array.

    The result equals `detector.detect` of each series. Threads run in parallel only in compiled
    code: all of Hunter, and the kernels of the other detectors.

    Args:
        detector: Any detector.
        values: The values of all series, one after the other.
        offsets: Series k owns the values offsets[k] to offsets[k + 1].
        workers: Number of threads. Defaults to the number of usable cores.
        label: Label of the progress on stderr; without a label there is none.

    Returns:
        The change points of each series.

    Raises:
        DataError: The values are not a list of numbers, a value is not finite or beyond 1e100
            (the message names the series and the index), or the offsets do not fit the values.
    """
    numbers, edges = as_floats(values), np.asarray(offsets, dtype=np.int64)
    is_list = edges.ndim == 1 and edges.size > 0
    if not is_list or edges[0] or edges[-1] != numbers.size or (np.diff(edges) < 0).any():
        raise DataError(f"the offsets must ascend from 0 to {numbers.size}, the number of values")
    require(workers is None or workers >= 1, "workers", workers, "at least 1")
    pieces = [*_pieces(edges)]
    progress, done = Progress(label, edges.size - 1), list[int]()

    def run(piece: tuple[int, int]) -> list[list[ChangePoint]]:
        points = _detect(detector, numbers, edges, *piece)
        done.append(len(points))
        if label and len(pieces) > 1:
            progress.update(sum(done))
        return points

    parts = map_threads(run, pieces, threads=workers)
    return [points for part in parts for points in part]


def _detect(
    detector: Detector, values: Floats, edges: Ints, first: int, last: int
) -> list[list[ChangePoint]]:
    series = [values[a:b] for a, b in pairwise(edges[first : last + 1].tolist())]
    for number, part in enumerate(series, first):
        try:
            checked(part)
        except DataError as error:
            raise DataError(f"series {number}: {error}") from None
    offsets = edges[first : last + 1]
    found = detector.find_many(values[offsets[0] : offsets[-1]], offsets - offsets[0])
    return [describe(part, points) for part, points in zip(series, found, strict=True)]


def _pieces(edges: Ints) -> Iterator[tuple[int, int]]:
    """Yield the bounds of chunks of series that have about PIECE points together."""
    first, total = 0, edges.size - 1
    while first < total:
        last = int(np.searchsorted(edges, edges[first] + PIECE, side="right")) - 1
        last = min(max(last, first + 1), total)
        yield first, last
        first = last


def detect_recent(
    detector: Detector,
    values: Floats,
    offsets: Ints,
    *,
    recent: int = RECENT,
) -> list[list[ChangePoint]]:
    """Find the change points of many series; of long ones, stretch by stretch.

    What is known of earlier points depends on the values alone, never on earlier searches: so
    results in any order of arrival lead to the same change points, and the time is linear.

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
        describe(values[a:b], points)
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
