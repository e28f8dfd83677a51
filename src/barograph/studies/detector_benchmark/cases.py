"""What the comparison runs on: series with known changes, and the detectors."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from barograph import detection
from barograph.detection import Hunter
from barograph.detection.base import Detector, RawChangePoint, require
from barograph.detection.registry import DETECTORS
from barograph.results.series import Floats

WEEK = 7 * 24 * 3600.0
Points = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A series with known changes.

    Attributes:
        series: Name of the series it was made from; intervals resample these.
        scenario: The row of the tables that it counts in.
        values: What a detector sees.
        truth: The change points.
        times: Seconds of each point, for `Threshold`.
    """

    series: str
    scenario: str
    values: Floats
    truth: Points
    times: Floats | None = None

    @property
    def size(self) -> int:
        """The number of points."""
        return self.values.size

    def detected_by(self, detector: Detector) -> Points:
        """Return the indices that a detector reports."""
        if isinstance(detector, Threshold) and self.times is not None:
            detector = replace(detector, times=self.times)
        return tuple(point.index for point in detector.detect(self.values))


@dataclass(frozen=True)
class Threshold(Detector):
    """Compare each run with the previous run and a run a week older (Daly et al. 2020, 1.1).

    A change point is the first of consecutive points that differ from one of the two in the same
    direction by more than `percent`. The statistic is the signed percentage, the larger one where
    both comparisons report.

    Args:
        percent: Smallest difference to report; the paper names 10 as an example.
        times: Seconds of each point; without them there is no comparison with the week.

    Example:
        >>> Threshold(percent=10.0).fit_predict([100.0] * 5 + [120.0] * 5)
        array([5])
    """

    percent: float = 10.0
    times: Floats | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.percent < np.inf, "percent", self.percent, "positive and finite")

    @property
    def shortest(self) -> int:
        """Fewest points that hold a run and a previous one."""
        return 2

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the first point of each alarm."""
        references = [np.append(np.nan, values[:-1])]
        references += [] if self.times is None else [week_ago(values, self.times)]
        largest: dict[int, float] = {}
        for reference in references:
            percent = _percent(values, reference)
            side = np.where(np.abs(percent) > self.percent, np.sign(percent), 0.0)
            for index in np.flatnonzero((side[1:] != 0) & (side[1:] != side[:-1])) + 1:
                if abs(percent[index]) > abs(largest.get(int(index), 0.0)):
                    largest[int(index)] = float(percent[index])
        return [RawChangePoint(index, largest[index]) for index in sorted(largest)]


def week_ago(values: Floats, times: Floats) -> Floats:
    """Return the last run that, like all before it, is at least a week older than each point.

    A run of more than two weeks earlier does not count. Runs may finish out of order, so the
    search uses a running maximum of the times.
    """
    reached = np.maximum.accumulate(times)
    latest = np.searchsorted(reached, times - WEEK, side="right") - 1
    age = times - times[latest]
    usable = (latest >= 0) & (age >= WEEK) & (age <= 2 * WEEK)
    return np.where(usable, values[latest], np.nan)


def _percent(values: Floats, reference: Floats) -> Floats:
    """Return the difference of each value from the reference, in percent of its magnitude."""
    usable = np.isfinite(reference) & (reference != 0.0)
    base = np.where(usable, reference, 1.0)
    with np.errstate(over="ignore"):
        percent = 100.0 * ((values - base) / np.abs(base))
    # A percentage too large for a double becomes the largest double.
    return np.where(usable, np.nan_to_num(percent), 0.0)


def default_detectors() -> Mapping[str, Detector]:
    """Return every detector with its default parameters, and variants, by the name of its row."""
    return {
        **{name: getattr(detection, name)() for name in DETECTORS},
        "Hunter, parity": Hunter(parity=True),
        "Threshold": Threshold(),
    }
