"""The comparison with a fixed percentage that Daly et al. (2020, 1.1) replaced."""

from dataclasses import dataclass, field

import numpy as np

from barograph.detection.base import Detector, RawChangePoint, allowed, require
from barograph.results.series import Direction, Floats, Ints

WEEK = 7 * 24 * 3600.0


@dataclass(frozen=True)
class Threshold(Detector):
    """Compare each run with the previous run, a run a week older, and the last stable release.

    Each comparison reports for itself: a change point is the first of consecutive points that
    differ from the reference in one direction by more than `percent`. A comparison without data
    is skipped: the week if there are no `times` or no run is one to two weeks old, the release if
    it is missing or NaN, and each of the three if the reference is 0. The statistic is the signed
    percentage, the largest where several comparisons report.

    Times and releases belong to one series: make a detector for each series that has them.

    Args:
        percent: Smallest difference to report; the paper names 10 as an example.
        direction: Which way is better. Only changes for the worse are reported, as in the paper;
            with an unknown direction, all changes are.
        times: Seconds of each point.
        release: The value of the last stable release at each point, NaN where there is none.

    Example:
        >>> Threshold(percent=10.0).fit_predict([100.0] * 5 + [120.0] * 5)
        array([5])
    """

    percent: float = 10.0
    direction: Direction = Direction.UNKNOWN
    times: Floats | None = field(default=None, compare=False, repr=False, kw_only=True)
    release: Floats | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.percent < np.inf, "percent", self.percent, "positive and finite")
        allowed("direction", self.direction, [int(direction) for direction in Direction])

    @property
    def shortest(self) -> int:
        """Fewest points that hold a run and a previous one."""
        return 2

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the first point of each alarm."""
        references = [np.append(np.nan, values[:-1])]
        references += [] if self.times is None else [week_ago(values, self.times)]
        references += [] if self.release is None else [self.release]
        largest: dict[int, float] = {}
        for reference in references:
            percent = _percent(values, reference)
            for index in _first_points(self._sides(percent)):
                if abs(percent[index]) > abs(largest.get(int(index), 0.0)):
                    largest[int(index)] = float(percent[index])
        return [RawChangePoint(index, largest[index]) for index in sorted(largest)]

    def _sides(self, percent: Floats) -> Ints:
        """Return +1 or -1 for alarms, by their direction, and 0 for other points."""
        sides = np.where(np.abs(percent) > self.percent, np.sign(percent), 0.0).astype(np.int64)
        sides[sides == int(self.direction)] = 0
        return sides


def week_ago(values: Floats, times: Floats) -> Floats:
    """Return the last run that, like all before it, is at least a week older than each point.

    A run of more than two weeks earlier does not count. Runs may finish out of order, so the
    search uses a running maximum of the times.
    """
    known = np.where(np.isnan(times), -np.inf, times)
    reached = np.maximum.accumulate(known)
    latest = np.searchsorted(reached, known - WEEK, side="right") - 1
    age = times - known[latest]
    usable = (latest >= 0) & (age >= WEEK) & (age <= 2 * WEEK)
    return np.where(usable, values[latest], np.nan)


def _percent(values: Floats, reference: Floats) -> Floats:
    """Return the difference of each value from the reference, in percent of its magnitude."""
    usable = np.isfinite(reference) & (reference != 0.0)
    base = np.where(usable, reference, 1.0)
    with np.errstate(over="ignore"):
        percent = 100.0 * ((values - base) / np.abs(base))
    # A percentage too large for a double becomes the largest double.
    largest = np.finfo(np.float64).max
    return np.where(usable, np.clip(percent, -largest, largest), 0.0)


def _first_points(sides: Ints) -> Ints:
    """Return where runs of alarms on one side begin, except at the start of the series."""
    begins = (sides[1:] != 0) & (sides[1:] != sides[:-1])
    return np.flatnonzero(begins) + 1
