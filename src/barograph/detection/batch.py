"""Many series at once, over a few threads."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from barograph.detection.base import (
    Detector,
    Observations,
    describe,
    observe,
    require,
)
from barograph.errors import DataError
from barograph.parallel import map_threads
from barograph.series import ChangePoint, Floats, Ints, as_floats

# Points per piece of work: enough that a thread rarely waits for the interpreter.
PIECE = 100_000


def detect_many(
    detector: Detector,
    values: npt.ArrayLike,
    offsets: npt.ArrayLike,
    *,
    workers: int | None = None,
) -> list[list[ChangePoint]]:
    """Find the change points of many series that lie one after the other.

    The same as `detector.detect` of each series. The threads work at the same time as far as the
    detector is compiled: Hunter wholly so, the others only in their kernels.

    Args:
        detector: any detector; those that ask for times or a release get none.
        values: the values of all series.
        offsets: where each series starts, and at last where the last one ends.
        workers: how many threads; as many as there are cores if None.

    Raises:
        DataError: the values are not a list of numbers, one of them is not finite and the
            detector refuses that (the message names the series and the index), or the offsets
            do not fit the values.
    """
    given = as_floats(values)
    edges = _edges(offsets, given.size)
    require(workers is None or workers >= 1, "workers", workers, "at least 1")
    parts = map_threads(
        lambda piece: _detect(detector, given, edges, *piece), _pieces(edges), threads=workers
    )
    return [points for part in parts for points in part]


def _detect(
    detector: Detector, values: Floats, edges: Ints, first: int, last: int
) -> list[list[ChangePoint]]:
    """Serve the series from `first` up to `last`."""
    series = [_observed(detector, values[edges[i] : edges[i + 1]], i) for i in range(first, last)]
    offsets = np.cumsum([0, *(one.values.size for one in series)], dtype=np.int64)
    joined = np.concatenate([one.values for one in series])
    found = detector.find_many(joined, offsets)
    return [describe(one, points) for one, points in zip(series, found, strict=True)]


def _observed(detector: Detector, values: Floats, number: int) -> Observations:
    try:
        return observe(values, missing=detector.missing)
    except DataError as error:
        raise DataError(f"series {number}: {error}") from None


def _edges(offsets: npt.ArrayLike, size: int) -> Ints:
    edges = np.asarray(offsets, dtype=np.int64)
    if edges.ndim != 1 or edges.size == 0 or edges[0] != 0 or edges[-1] != size:
        raise DataError(f"the offsets must be a list from 0 to {size}, the number of values")
    if (np.diff(edges) < 0).any():
        index = int(np.argmax(np.diff(edges) < 0)) + 1
        raise DataError(f"the offset at index {index} is below the one before it")
    return edges


def _pieces(edges: Ints) -> Iterator[tuple[int, int]]:
    """Cut the series into runs of about PIECE points."""
    first, total = 0, edges.size - 1
    while first < total:
        last = int(np.searchsorted(edges, edges[first] + PIECE, side="right")) - 1
        last = min(max(last, first + 1), total)
        yield first, last
        first = last
