"""Search many series of the store for change points, in threads or in processes.

Series are independent, and the result of one depends on its values alone, so neither the number of
workers nor the size of the parts changes a candidate. All writing is left to the caller.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from barograph.detection.base import Detector
from barograph.detection.recent import RECENT, SearchMemory, detect_recent
from barograph.parallel import map_parallel, map_threads, row_ranges
from barograph.series import ChangePoint, Floats, Series

SMALLEST = 10  # series in a part of a thread
PART = 25  # series in a part of a process
WORTHWHILE = 20_000  # points from which starting processes pays


def find_changes(
    detector: Detector,
    series: Sequence[Series],
    *,
    recent: int = RECENT,
    workers: int = 1,
    memory: SearchMemory | None = None,
) -> list[list[ChangePoint]]:
    """Find the change points of each series.

    Args:
        detector: Any detector.
        series: The series.
        recent: Number of the newest points that are always searched together.
        workers: Number of processes; with 1 the series are searched by threads of this process.
        memory: What the same detector found before; only threads use it.

    Returns:
        The change points of each series, the same for every number of workers.
    """
    values = [stretch.values for stretch in series]
    if workers > 1 and sum(map(len, values)) >= WORTHWHILE:
        parts = row_ranges(len(values), workers, smallest=PART)
        calls = [(detector, values[part], recent) for part in parts]
        results = map_parallel(find_in_part, calls, workers=min(workers, len(calls)))
    else:
        parts = row_ranges(len(values), None, smallest=SMALLEST)
        results = iter(
            map_threads(lambda part: find_in_part(detector, values[part], recent, memory), parts)
        )
    return [changes for part in results for changes in part]


def find_in_part(
    detector: Detector, values: Sequence[Floats], recent: int, memory: SearchMemory | None = None
) -> list[list[ChangePoint]]:
    """Find the change points of some series."""
    offsets = np.cumsum([0, *(part.size for part in values)], dtype=np.int64)
    joined = np.concatenate([np.empty(0), *values])
    return detect_recent(detector, joined, offsets, recent=recent, memory=memory)
