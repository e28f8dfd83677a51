"""One series of the ground, and what is known of its changes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from barograph.detection.base import Detector
from barograph.series import Floats

Points = tuple[int, ...]


class Opinion(NamedTuple):
    """What one person marked, and what there was to mark by the others' word or the truth."""

    marks: Points
    rest: Points


@dataclass(frozen=True)
class Case:
    """A series to be judged on.

    Attributes:
        series: what it was made of; intervals resample these.
        scenario: the row of the tables it counts in.
        values: what a detector is shown.
        truth: where it changes.
        times: seconds, for those detectors that ask.
        people: one opinion a person.
    """

    series: str
    scenario: str
    values: Floats
    truth: Points
    times: Floats | None = None
    people: tuple[Opinion, ...] = ()

    @property
    def size(self) -> int:
        """How many points there are."""
        return self.values.size

    def found_by(self, detector: Detector, shown: int | None = None) -> Points:
        """Return the indices that a detector finds, given all or the first points only."""
        times = None if self.times is None else self.times[:shown]
        return tuple(point.index for point in detector.detect(self.values[:shown], times=times))


def opinions(marks: Sequence[Collection[int]], margin: int) -> tuple[Opinion, ...]:
    """Hold each person's marks against what the majority of the others marked."""
    return tuple(
        Opinion(tuple(sorted(own)), majority([*marks[:k], *marks[k + 1 :]], margin))
        for k, own in enumerate(marks)
    )


def majority(marks: Sequence[Collection[int]], margin: int) -> Points:
    """Return the points that more than half of the people marked within `margin`.

    The mark with the most people near it comes first, among equals the one nearest to theirs;
    each person's mark counts for one point only.
    """
    left = [set(own) for own in marks]
    agreed: list[int] = []
    while True:
        best = min(
            (_support(point, left, margin) for point in set().union(*left)),
            default=(0, 0, 0),
        )
        supporters, _, point = best
        if 2 * -supporters <= len(marks):
            return tuple(sorted(agreed))
        agreed.append(point)
        for own in left:
            own.difference_update(_nearest(point, own, margin))


def _support(point: int, left: Sequence[set[int]], margin: int) -> tuple[int, int, int]:
    near = [_nearest(point, own, margin) for own in left]
    distance = sum(abs(point - mark) for marks in near for mark in marks)
    return -sum(map(len, near)), distance, point


def _nearest(point: int, own: set[int], margin: int) -> list[int]:
    nearest = min(own, key=lambda mark: (abs(mark - point), mark), default=None)
    return [nearest] if nearest is not None and abs(nearest - point) <= margin else []


def noise(values: Floats) -> float:
    """Return the spread of a stretch without changes: robust, but not 0 where most are equal."""
    robust = 1.4826 * float(np.median(np.abs(values - np.median(values))))
    return max(robust, 0.5 * float(values.std()))
