"""What the comparison runs on: known changes put into real noise, and the detectors.

The nine scenarios are those of Fleming et al. 2023, 4.3. The changes go into the calmest segment of
each history. No compared detector chooses the segments: the measure is the largest deviation of the
cumulative sum of ranks, which a spike can neither hide in nor disturb.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Literal

import numpy as np
from scipy.stats import rankdata

from barograph import detection
from barograph.detection import Hunter
from barograph.detection.base import Detector, RawChangePoint, require
from barograph.detection.registry import DETECTORS
from barograph.results.series import Floats
from barograph.simulator.people import noise
from barograph.studies.control_charts import BOUNDS, ControlChart

# The supremum of a Brownian bridge that 1 % of independent segments exceed. Benchmark results are
# autocorrelated, which makes the limit stricter for them.
CALM = 1.63
Kind = Literal["mean", "variance", "both"]
KINDS: tuple[Kind, ...] = ("mean", "variance", "both")
# The kind and the number of changes of each scenario.
SCENARIOS: dict[str, tuple[Kind, int]] = {
    f"{3 * row + column + 1}: {kind}, {changes} point{'s' * (changes > 1)}": (kind, changes)
    for row, changes in enumerate((1, 2, 4))
    for column, kind in enumerate(KINDS)
}
STEPS = (2.0, 8.0)  # sizes of injected steps, in units of the noise
FACTORS = (2.0, 4.0)  # factors of the deviations in injected changes of variance
SHORTEST = 5  # points of a group
WEEK = 7 * 24 * 3600.0
Points = tuple[int, ...]


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


@dataclass(frozen=True)
class Case:
    """A history, or a part of it, with the changes that were put into it.

    Attributes:
        series: Name of the history; intervals resample these.
        values: What a detector sees.
        times: Seconds of each point, for `Threshold`.
        scenario: The row of the tables that it counts in.
        truth: The change points.
    """

    series: str
    values: Floats
    times: Floats | None = None
    scenario: str = ""
    truth: Points = ()

    def detected_by(self, detector: Detector) -> Points:
        """Return the indices that a detector reports."""
        if isinstance(detector, Threshold) and self.times is not None:
            detector = replace(detector, times=self.times)
        return tuple(point.index for point in detector.detect(self.values))


def default_detectors() -> Mapping[str, Detector]:
    """Return every detector with its default parameters, and variants, by the name of its row."""
    return {
        **{name: getattr(detection, name)() for name in DETECTORS},
        "Hunter, parity": Hunter(parity=True),
        "Threshold": Threshold(),
        "Trace bounds": ControlChart(BOUNDS),
        "Western Electric": ControlChart(),
    }


def calmest_segment(history: Case, length: int) -> Case | None:
    """Return the calmest segment of a history with `length` points, or None if no one is calm."""
    calmest, smallest = None, CALM
    for start in range(0, history.values.size - length + 1, max(1, length // 4)):
        part = slice(start, start + length)
        values = history.values[part]
        if noise(values) == 0.0:
            continue
        deviation = rank_deviation(values)
        if deviation < smallest:
            times = None if history.times is None else history.times[part]
            calmest, smallest = Case(history.series, values, times), deviation
    return calmest


def rank_deviation(values: Floats) -> float:
    """Return the largest deviation of the cumulative sum of ranks, scaled as a Brownian bridge."""
    ranks = rankdata(values)
    sd = ranks.std()
    if sd == 0.0:
        return 0.0
    return float(np.abs(np.cumsum(ranks - ranks.mean())).max() / (sd * np.sqrt(values.size)))


def calm_segments(histories: Iterable[Case], length: int, limit: int) -> list[Case]:
    """Return the calmest segment of each history that has one, at most `limit` in all."""
    calmest = (calmest_segment(history, length) for history in histories)
    return list(islice((segment for segment in calmest if segment is not None), limit))


def injected(segments: Sequence[Case], seed: int) -> Iterator[Case]:
    """Yield every scenario on every segment, each with its own changes."""
    for number, segment in enumerate(segments):
        for row, (scenario, (kind, changes)) in enumerate(SCENARIOS.items()):
            generator = np.random.default_rng((seed, number, row))
            points = draw_points(segment.values.size, changes, generator)
            values = changed(segment.values, points, kind, generator)
            yield replace(segment, values=values, scenario=scenario, truth=points)


def draw_points(length: int, changes: int, generator: np.random.Generator) -> Points:
    """Draw change points that leave groups of unequal length, none shorter than five points."""
    shares = generator.uniform(0.5, 1.5, changes + 1)
    free = length - SHORTEST * (changes + 1)
    groups = SHORTEST + np.floor(free * shares / shares.sum()).astype(np.int64)
    return tuple(int(point) for point in np.cumsum(groups)[:-1])


def changed(values: Floats, points: Points, kind: Kind, generator: np.random.Generator) -> Floats:
    """Change every second group, as latency that is switched on and off does."""
    level, unit = np.median(values), noise(values)
    result = values.copy()
    side = generator.choice([-1.0, 1.0])
    edges = [*points, values.size]
    for start, end in list(pairwise(edges))[::2]:
        step = side * generator.uniform(*STEPS) * unit
        factor = generator.uniform(*FACTORS)
        group = result[start:end]
        if kind != "mean":
            group += (factor - 1.0) * (group - level)
        if kind != "variance":
            group += step
    return result
