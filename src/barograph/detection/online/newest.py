"""The probability of points, each as if it were the newest of its series."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from barograph.cores import usable_cores
from barograph.detection.online.scorer import Scorer
from barograph.features import feature_matrix
from barograph.series import Floats, Ints

# Fewer points than this are not worth another thread; more parts than threads, so that one with
# short histories takes over from one with long ones.
WORTH_A_THREAD = 512
PARTS = 4
AT_ONCE = 131_072  # rows described before they are judged, so that they need little memory


def newest_points(
    model: Scorer, values: Floats, starts: Ints, splits: Ints, *, threads: int | None = None
) -> Floats:
    """Return the probability of many points, each as if it were the newest of its series.

    Pre of the point at `splits[k]` runs from `starts[k]`; the series stand one behind the other.
    Each thread describes and judges a part; the answers do not depend on how many there are.
    """

    def judge(part: slice) -> Floats:
        low, high = int(starts[part].min()), int(splits[part].max()) + 1
        return _judged(model, values[low:high], starts[part] - low, splits[part] - low)

    return in_parts(judge, splits.size, threads)


def in_parts(judge: Callable[[slice], Floats], count: int, threads: int | None) -> Floats:
    """Let each thread judge a part of so many rows, and put the answers together.

    Args:
        judge: answers for a slice of the rows, the same whatever else is asked.
        count: of all rows.
        threads: at once; one on each usable core if None.
    """
    threads = threads or usable_cores()
    if count < 2 * WORTH_A_THREAD or (threads == 1 and count <= AT_ONCE):
        return judge(slice(0, count)) if count else np.empty(0)
    size = min(AT_ONCE, max(WORTH_A_THREAD, -(-count // (threads * PARTS))))
    parts = [slice(first, first + size) for first in range(0, count, size)]
    if threads == 1:
        return np.concatenate([judge(part) for part in parts])
    # The kernels let go of the interpreter's lock.
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        return np.concatenate(list(pool.map(judge, parts)))


def _judged(model: Scorer, values: Floats, starts: Ints, splits: Ints) -> Floats:
    rows = feature_matrix(values, starts, splits, splits + 1, model.feature_set, threads=1)
    return model.predict_proba(rows)[:, 1]


def newest_row(model: Scorer, values: Floats) -> Floats:
    """Describe the last of some values against all others, as the model sees it."""
    bounds = ([0], [values.size - 1], [values.size])
    row: Floats = feature_matrix(values, *bounds, model.feature_set, threads=1)[0]
    return row
