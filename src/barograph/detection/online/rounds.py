"""Many series judged in few calls: a model of many trees is quick only with many rows at once."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.detection.online.newest import newest_points
from barograph.detection.online.recent import kept_from
from barograph.detection.online.scorer import Scorer
from barograph.series import Floats, Ints

Flags = npt.NDArray[np.bool_]
# Rows of one call, and how far ahead one series is judged in it: what lies behind a change point
# found is judged again in the next call, with its own Pre.
TOGETHER = 16_384
NEAREST, FARTHEST = 8, 512


class Course(NamedTuple):
    """Series one behind the other, and how far each of them is judged.

    Attributes:
        values: of all series.
        origin: of each series, the place of its first value, were all of them here.
        at: the place of the next point to be judged.
        end: the place behind its last value.
        start: the place of its last change point, the first value where there is none.
        shift: what leads from a place to that of its answer.
    """

    values: Floats
    origin: Ints
    at: Ints
    end: Ints
    start: Ints
    shift: Ints


class Verdicts(NamedTuple):
    """The answers, one for each point that was to be judged."""

    probability: Floats
    found: Flags
    pre: Ints  # how many points it was held against

    @classmethod
    def none(cls, size: int) -> "Verdicts":
        """Room for answers; a point that nothing stands before is no change."""
        return cls(np.zeros(size), np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.int64))


def follow(
    model: Scorer,
    course: Course,
    history: int,
    verdicts: Verdicts,
    *,
    by_change_points: bool = True,
    threads: int | None = 1,
) -> None:
    """Judge every series to its end, round by round, and leave each at its last change point.

    Args:
        model: judges the newest point.
        course: moves on, and so do the change points in it.
        history: as for `OnlineDetector`.
        verdicts: are filled.
        by_change_points: whether Pre starts at the last change point; if not, nothing that is
            called changes what the model sees.
        threads: judge parts of a round; one on each usable core if None.
    """
    values, first, at, end, start, shift = course
    while (active := np.flatnonzero(at < end)).size:
        ahead = min(max(TOGETHER // active.size, NEAREST), FARTHEST)
        counts = np.minimum(end[active] - at[active], ahead)
        ends = np.cumsum(counts)
        together = max(1, int(np.searchsorted(ends, TOGETHER, "right")))
        some, counts = active[:together], counts[:together]
        begins = ends[:together] - counts
        place = np.arange(int(counts.sum()))
        splits = place + np.repeat(at[some] - begins, counts)
        origin = np.repeat(first[some], counts)
        starts = origin + kept_from(splits - origin, history)
        if by_change_points:
            starts = np.maximum(np.repeat(start[some], counts), starts)
        judged = newest_points(model, values, starts, splits, threads=threads)
        hits = judged >= model.threshold
        # How many points of each series count: up to its first hit, where that changes Pre.
        hit = np.minimum.reduceat(np.where(hits, place, place.size), begins)
        done = np.minimum(hit - begins + 1, counts) if by_change_points else counts
        valid = place - np.repeat(begins, counts) < np.repeat(done, counts)
        answer = (splits + np.repeat(shift[some], counts))[valid]
        verdicts.probability[answer] = judged[valid]
        verdicts.found[answer] = hits[valid]
        verdicts.pre[answer] = (splits - starts)[valid]
        at[some] += done
        last = np.maximum.reduceat(np.where(hits & valid, splits, -1), begins)
        start[some] = np.where(last >= 0, last, start[some])


def algorithm_1(model: Scorer, values: Floats, offsets: Ints, history: int) -> tuple[Floats, Flags]:
    """Judge every point against Pre from the last change point found in its series."""
    first = offsets[:-1]
    nowhere = np.zeros(first.size, dtype=np.int64)
    course = Course(values, first, first + 1, offsets[1:], first.copy(), nowhere)
    verdicts = Verdicts.none(values.size)
    follow(model, course, history, verdicts)
    return verdicts.probability, verdicts.found
