"""Detection over many series, on several threads."""

from collections import Counter
from collections.abc import Iterator
from threading import Lock

import numpy as np
import numpy.typing as npt

from barograph.detection.base import Detector, describe, observe, require
from barograph.results.series import ChangePoint, Floats, Ints, as_floats
from barograph.runtime.errors import DataError
from barograph.runtime.parallel import Progress, map_threads

# Points per chunk: enough that a thread rarely waits for the interpreter.
PIECE = 100_000


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
        DataError: The values are not a list of numbers, a value is not finite and the detector
            refuses that (the message names the series and the index), or the offsets do not fit
            the values.
    """
    numbers = as_floats(values)
    edges = _edges(offsets, numbers.size)
    require(workers is None or workers >= 1, "workers", workers, "at least 1")
    pieces = [*_pieces(edges)]
    progress, done, lock = Progress(label, edges.size - 1), Counter[str](), Lock()

    def run(piece: tuple[int, int]) -> list[list[ChangePoint]]:
        points = _detect(detector, numbers, edges, *piece)
        if label and len(pieces) > 1:
            with lock:
                done.update(series=len(points))
                progress.update(done["series"])
        return points

    parts = map_threads(run, pieces, threads=workers)
    return [points for part in parts for points in part]


def _detect(
    detector: Detector, values: Floats, edges: Ints, first: int, last: int
) -> list[list[ChangePoint]]:
    series = [_observed(detector, values[edges[i] : edges[i + 1]], i) for i in range(first, last)]
    offsets = np.cumsum([0, *(kept.size for kept, _ in series)], dtype=np.int64)
    joined = np.concatenate([kept for kept, _ in series])
    points_by_series = detector.find_many(joined, offsets)
    return [describe(*part, points) for part, points in zip(series, points_by_series, strict=True)]


def _observed(detector: Detector, values: Floats, number: int) -> tuple[Floats, Ints]:
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
    """Yield the bounds of chunks of series that have about PIECE points together."""
    first, total = 0, edges.size - 1
    while first < total:
        last = int(np.searchsorted(edges, edges[first] + PIECE, side="right")) - 1
        last = min(max(last, first + 1), total)
        yield first, last
        first = last
