"""The probability of points, each as if it were the newest of its series."""

from barograph.detection.online.scorer import Scorer
from barograph.features import feature_matrix
from barograph.series import Floats, Ints

AHEAD = 32  # points judged per batch before a found change point makes the rest void


def newest_points(
    model: Scorer, values: Floats, starts: Ints, splits: Ints, *, threads: int | None = None
) -> Floats:
    """Return the probability of many points, each as if it were the newest of its series.

    Pre of the point at `splits[k]` runs from `starts[k]`; the series stand one behind the other.
    """
    rows = feature_matrix(values, starts, splits, splits + 1, model.feature_set, threads=threads)
    return model.predict_proba(rows)[:, 1]
