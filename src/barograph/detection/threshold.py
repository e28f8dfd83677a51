"""The comparison with a fixed percentage that Daly et al. (2020, 1.1) replaced."""

from dataclasses import dataclass

import numpy as np

from barograph.detection.base import Detector, Observations, RawChangePoint, allowed, require
from barograph.series import Direction, Floats, Ints
from barograph.sizes import Size

_NONE = RawChangePoint(index=-1, statistic=0.0)
WEEK = 7 * 24 * 3600.0


@dataclass(frozen=True)
class Threshold(Detector):
    """Compare each run with the previous run, a run a week older, and the last stable release.

    Each comparison reports for itself: a change point is the first of consecutive points that
    differ from the reference in one direction by more than `percent`. A comparison without data
    is skipped: the week if there are no `times` or no run is one to two weeks old, the release if
    it is missing or NaN, and each of the three if the reference is 0. The statistic is the signed
    percentage, the largest where several comparisons report; `before.level` is the reference that
    it is of, and `after.level` is the run.

    Args:
        percent: Smallest difference to report; the paper names 10 as an example.
        direction: Which way is better. Only changes for the worse are reported, as in the paper;
            with an unknown direction, all changes are.

    Example:
        >>> Threshold(percent=10.0).fit_predict([100.0] * 5 + [120.0] * 5)
        array([5])
    """

    percent: float = 10.0
    direction: Direction = Direction.UNKNOWN

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.percent < np.inf, "percent", self.percent, "positive and finite")
        allowed("direction", self.direction, [int(direction) for direction in Direction])

    @property
    def shortest(self) -> int:
        """Fewest points that hold a run and a previous one."""
        return 2

    def find(self, series: Observations) -> list[RawChangePoint]:
        """Return the first point of each alarm."""
        alarms: dict[int, RawChangePoint] = {}
        for reference in references(series):
            percent = _percent(series.values, reference)
            for index in _first_points(self._sides(percent)).tolist():
                compared = Size(float(reference[index]), float(series.values[index]))
                alarm = RawChangePoint(index, float(percent[index]), size=compared)
                if abs(alarm.statistic) > abs(alarms.get(index, _NONE).statistic):
                    alarms[index] = alarm
        return [alarms[index] for index in sorted(alarms)]

    def _sides(self, percent: Floats) -> Ints:
        """Return +1 or -1 for alarms, by their direction, and 0 for other points."""
        sides = np.where(np.abs(percent) > self.percent, np.sign(percent), 0.0).astype(np.int64)
        sides[sides == int(self.direction)] = 0
        return sides


def references(series: Observations) -> tuple[Floats, Floats, Floats]:
    """Return the three references of each point; NaN where there is none."""
    nothing = np.full(series.values.size, np.nan)
    previous = np.concatenate([[np.nan], series.values[:-1]])
    week = nothing if series.times is None else _week_ago(series.values, series.times)
    return previous, week, nothing if series.release is None else series.release


def _week_ago(values: Floats, times: Floats) -> Floats:
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
