"""Many series judged in few calls: a model of many trees is quick only with many rows at once."""

import numpy as np
import numpy.typing as npt

from barograph.detection.online.newest import newest_points
from barograph.detection.online.recent import kept_from
from barograph.detection.online.scorer import Scorer
from barograph.detection.online.sight import RegimeSight
from barograph.features import feature_matrix
from barograph.series import Floats, Ints

Flags = npt.NDArray[np.bool_]
# Rows of one call, and how far ahead one series is judged in it: what lies behind a change point
# found is judged again in the next call, with its own Pre.
TOGETHER = 16_384
NEAREST, FARTHEST = 8, 512


def algorithm_1(model: Scorer, values: Floats, offsets: Ints, history: int) -> tuple[Floats, Flags]:
    """Judge every point against Pre from the last change point found in its series."""
    probability = np.zeros(values.size)
    found = np.zeros(values.size, dtype=np.bool_)
    first, end = offsets[:-1], offsets[1:]
    at, start = first + 1, first.copy()
    while (active := np.flatnonzero(at < end)).size:
        ahead = min(max(TOGETHER // active.size, NEAREST), FARTHEST)
        some = active[: max(1, TOGETHER // NEAREST)]
        counts = np.minimum(end[some] - at[some], ahead)
        begins = np.cumsum(counts) - counts
        splits = np.arange(counts.sum()) + np.repeat(at[some] - begins, counts)
        origin = np.repeat(first[some], counts)
        kept = origin + kept_from(splits - origin, history)
        starts = np.maximum(np.repeat(start[some], counts), kept)
        judged = newest_points(model, values, starts, splits, threads=1)
        hits = judged >= model.threshold
        # How many points of each series count: up to its first hit.
        place = np.where(hits, np.arange(hits.size), hits.size)
        hit = np.minimum.reduceat(place, begins)
        done = np.minimum(hit - begins + 1, counts)
        valid = np.arange(hits.size) - np.repeat(begins, counts) < np.repeat(done, counts)
        probability[splits[valid]] = judged[valid]
        found[splits[valid & hits]] = True
        at[some] += done
        stopped = some[hit < begins + counts]
        start[stopped] = at[stopped] - 1
    return probability, found


def probabilities(
    model: Scorer,
    values: Floats,
    offsets: Ints,
    window: int,
    history: int,
    chosen: Flags | None = None,
) -> Floats:
    """Return by newest point the probability of the point `window` before; 0 if not judged.

    Args:
        model: knows the regime from the values alone.
        values: all series, one behind the other.
        offsets: where each begins, and the end of the last.
        window: how many points have followed.
        history: as for the detector.
        chosen: the points to judge; by default all.
    """
    lengths = np.diff(offsets)
    origin = np.repeat(offsets[:-1], lengths)
    points = np.arange(values.size)
    judged = (points - origin >= RegimeSight.first) & (
        points + window < np.repeat(offsets[1:], lengths)
    )
    splits = np.flatnonzero(judged if chosen is None else judged & chosen)
    result = np.zeros(values.size)
    if splits.size:
        starts = origin[splits] + kept_from(splits + window - origin[splits], history)
        rows = feature_matrix(
            values, starts, splits, splits + window + 1, model.feature_set, threads=1
        )
        result[splits + window] = model.predict_proba(rows)[:, 1]
    return result
