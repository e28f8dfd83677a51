"""The probability of points, each as if it were the newest of its series."""

from collections.abc import Callable

import numpy as np

from barograph.detection.online.scorer import Scorer
from barograph.features import feature_matrix
from barograph.parallel import map_threads, row_ranges
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
    parts = row_ranges(count, threads, smallest=WORTH_A_THREAD, largest=AT_ONCE, parts=PARTS)
    return np.concatenate([np.empty(0), *map_threads(judge, parts, threads=threads)])


def _judged(model: Scorer, values: Floats, starts: Ints, splits: Ints) -> Floats:
    rows = feature_matrix(values, starts, splits, splits + 1, model.feature_set, threads=1)
    return model.predict_proba(rows)[:, 1]


def newest_row(model: Scorer, values: Floats) -> Floats:
    """Describe the last of some values against all others, as the model sees it."""
    bounds = ([0], [values.size - 1], [values.size])
    row: Floats = feature_matrix(values, *bounds, model.feature_set, threads=1)[0]
    return row
