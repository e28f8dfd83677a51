"""The comparison with a fixed percentage that Daly et al. (2020, 2.1) replaced."""

from dataclasses import dataclass

import numpy as np

from barograph.detection.base import Detector, Found, Observations, allowed, require
from barograph.series import Direction, Floats, Ints

WEEK = 7 * 24 * 3600.0


@dataclass(frozen=True)
class Threshold(Detector):
    """Compare each run with the one before, one of a week ago, and the last stable release.

    A change point is the first of the points in a row that differ from what one comparison looks
    at, in one direction, by more than `percent` of it; the three comparisons report each for
    themselves. A comparison without data is skipped: the week without `times`, or where no run is
    one to two weeks old; the release without `release`, or where it is NaN; and all three where
    the reference is 0, of which no percentage exists. The statistic is the signed percentage.

    Args:
        percent: the X of the paper, which names 10 as an example.
        direction: which way is better, to report only what is worse, as that system did;
            unknown reports both.
    """

    percent: float = 10.0
    direction: Direction = Direction.UNKNOWN

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.percent < np.inf, "percent", self.percent, "positive and finite")
        allowed("direction", self.direction, list(Direction))

    @property
    def shortest(self) -> int:
        """A run, and one before it."""
        return 2

    def find(self, series: Observations) -> list[Found]:
        """Locate the first points of all alarms."""
        largest: dict[int, float] = {}
        for reference in references(series):
            percent = _percent(series.values, reference)
            for index in _first_points(self._sides(percent)):
                if abs(percent[index]) > abs(largest.get(int(index), 0.0)):
                    largest[int(index)] = float(percent[index])
        return [Found(index, largest[index]) for index in sorted(largest)]

    def _sides(self, percent: Floats) -> Ints:
        """+1 or -1 where a point is an alarm, by its direction; 0 elsewhere."""
        sides = np.where(np.abs(percent) > self.percent, np.sign(percent), 0.0).astype(np.int64)
        sides[sides == int(self.direction)] = 0
        return sides


def references(series: Observations) -> tuple[Floats, Floats, Floats]:
    """Return what each point is compared with, thrice; NaN where there is nothing."""
    nothing = np.full(series.values.size, np.nan)
    previous = np.concatenate([[np.nan], series.values[:-1]])
    week = nothing if series.times is None else _week_ago(series.values, series.times)
    return previous, week, nothing if series.release is None else series.release


def _week_ago(values: Floats, times: Floats) -> Floats:
    """The last run by then of which all before it are a week old too, at most two weeks old.

    Runs may finish out of order; a running maximum of the times keeps the search monotone.
    """
    known = np.where(np.isnan(times), -np.inf, times)
    reached = np.maximum.accumulate(known)
    at = np.searchsorted(reached, known - WEEK, side="right") - 1
    age = times - known[at]
    usable = (at >= 0) & (age >= WEEK) & (age <= 2 * WEEK)
    return np.where(usable, values[at], np.nan)


def _percent(values: Floats, reference: Floats) -> Floats:
    """By how many percent of its magnitude each value differs from the reference."""
    usable = np.isfinite(reference) & (reference != 0.0)
    base = np.where(usable, reference, 1.0)
    with np.errstate(over="ignore"):
        percent = 100.0 * ((values - base) / np.abs(base))
    # A percentage that no double holds is as good as the largest one.
    largest = np.finfo(np.float64).max
    return np.where(usable, np.clip(percent, -largest, largest), 0.0)


def _first_points(sides: Ints) -> Ints:
    """Where a run of alarms on one side begins; one that begins with the series is no change."""
    begins = (sides[1:] != 0) & (sides[1:] != sides[:-1])
    return np.flatnonzero(begins) + 1
