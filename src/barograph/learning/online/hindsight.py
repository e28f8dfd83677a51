"""Learn from hindsight: label a history without verdicts by what every jump has become since.

The candidates of two detectors are judged with all the points that followed. Probable ones become
changes, points near doubtful ones are left out, and all other points are quiet. Near the verdict of
a person nothing is labelled: the verdict decides.
"""

from __future__ import annotations

import numpy as np

from barograph.detection.batch import detect_many
from barograph.detection.edivisive import EDivisive
from barograph.detection.hunter import Hunter
from barograph.detection.triaged import Triaged
from barograph.learning.online.truth import Truth
from barograph.results.marks import MARGIN
from barograph.results.series import Floats, Ints

LIKELY = 0.5  # a candidate of at least this probability is a change
DOUBTFUL = 0.15  # below this one it is noise; what lies between is left out
TEACHER = Triaged((EDivisive(), Hunter()), apart=1, min_probability=DOUBTFUL)


def truth_in_hindsight(
    values: Floats, offsets: Ints, groups: Ints, *, true: Ints, false: Ints, undecided: Ints
) -> Truth:
    """Return the changes that verdicts name, and those that hindsight shows elsewhere.

    Args:
        values: All points.
        offsets: Where each series begins, and the end of the last.
        groups: The group of each series.
        true: The candidates that people called real changes.
        false: The candidates that people called noise.
        undecided: The candidates that people looked at without a decision; points near one are left
            out.

    Example:
        >>> values = np.random.default_rng(0).normal(100.0, 1.0, 200)
        >>> values[120:] += 10.0
        >>> none = np.empty(0, dtype=np.int64)
        >>> edges, group = np.array([0, 200]), np.array([0])
        >>> truth_in_hindsight(
        ...     values, edges, group, true=none, false=none, undecided=none
        ... ).changes.tolist()
        [120]
    """
    likely, doubtful = look_back(values, offsets)
    decided = np.concatenate([true, false, undecided])
    likely, doubtful = (_far_from(decided, points, offsets) for points in (likely, doubtful))
    true, undecided = np.concatenate([true, likely]), np.concatenate([undecided, doubtful])
    return Truth.of_verdicts(values, offsets, groups, true=true, undecided=undecided)


def look_back(values: Floats, offsets: Ints) -> tuple[Ints, Ints]:
    """Return the points at which hindsight sees a change, and those at which it is in doubt.

    The shipped model judges the candidates. Series are labelled in pieces, each by itself: the
    memory needed does not grow with their number, and the result does not depend on the number of
    threads.

    Args:
        values: All points.
        offsets: Where each series begins, and the end of the last.
    """
    found: tuple[list[int], list[int]] = [], []  # in doubt, and likely
    for first, changes in zip(offsets, detect_many(TEACHER, values, offsets), strict=False):
        for change in changes:
            found[(change.probability or 0.0) >= LIKELY].append(int(first) + change.index)
    doubtful, likely = (np.array(points, dtype=np.int64) for points in found)
    return likely, doubtful


def _far_from(decided: Ints, points: Ints, offsets: Ints) -> Ints:
    """Return the points that have no decided one of the same series within the margin."""
    is_near = np.zeros(points.size, dtype=np.bool_)
    series = np.searchsorted(offsets, points, side="right")
    for point, owner in zip(decided, np.searchsorted(offsets, decided, "right"), strict=True):
        is_near |= (np.abs(points - point) <= MARGIN) & (series == owner)
    return points[~is_near]
