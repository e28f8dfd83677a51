"""Bounds per trace, and the Western Electric rules: baselines of the detector comparison.

The authors of Skia's detector used an upper and a lower bound per trace before, and name the
Western Electric rules as "applicable in this case, but we've never tested them". Both judge each
result by a mean and a standard deviation of earlier ones. Skia's bounds were placed by hand; here
they are placed on the first results, and again after each alarm.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from barograph.detection.base import Detector, RawChangePoint, require
from barograph.results.series import Floats


class ZoneRule(NamedTuple):
    """An alarm: `needed` of `of` consecutive results lie beyond a limit, on the same side."""

    needed: int
    of: int
    limit: float  # in standard deviations


# Western Electric, Statistical Quality Control Handbook, 1956.
WESTERN_ELECTRIC = (
    ZoneRule(1, 1, 3.0),
    ZoneRule(2, 3, 2.0),
    ZoneRule(4, 5, 1.0),
    ZoneRule(8, 8, 0.0),
)
BOUNDS = WESTERN_ELECTRIC[:1]


@dataclass(frozen=True)
class ControlChart(Detector):
    """Report a change where results break a rule of a control chart.

    Mean and standard deviation are those of the first `learned` results after the last change. The
    change point is the first of the results that broke the rule; the statistic is the deviation of
    the result that raised the alarm, in standard deviations.

    Args:
        rules: The rules; the first alarm of any of them counts.
        learned: Results that limits are placed on.

    Example:
        >>> values = [10.0, 10.1, 9.9] * 10 + [12.0, 12.1, 11.9] * 10
        >>> ControlChart().fit_predict(values)
        array([30])
    """

    rules: tuple[ZoneRule, ...] = WESTERN_ELECTRIC
    learned: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.learned >= 2, "learned", self.learned, "at least 2 points")

    @property
    def shortest(self) -> int:
        """The results that limits are placed on, and one to judge."""
        return self.learned + 1

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the first point of each broken rule."""
        found: list[RawChangePoint] = []
        start = 0
        while (judged := start + self.learned) < values.size:
            deviations = _deviations(values[judged:], values[start:judged])
            alarms = [alarm for rule in self.rules for alarm in _alarms(deviations, rule)]
            if not alarms:
                break
            last, first = min(alarms)
            start = judged + first
            found.append(RawChangePoint(start, float(deviations[last])))
        return found


def _deviations(values: Floats, baseline: Floats) -> Floats:
    """Return how far values are from the mean of a baseline, in its standard deviations."""
    # Of a constant baseline, only an equal value has no deviation; its mean may be rounded.
    is_constant = np.ptp(baseline) == 0.0
    level, spread = (baseline[0], 0.0) if is_constant else (baseline.mean(), baseline.std(ddof=1))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        deviations = (values - level) / spread
    result: Floats = np.nan_to_num(deviations)
    return result


def _alarms(deviations: Floats, rule: ZoneRule) -> Iterator[tuple[int, int]]:
    """Yield where a rule is first broken on each side: the last and the first such result."""
    for side in (1.0, -1.0):
        beyond = side * deviations > rule.limit
        count = np.cumsum(np.append(0, beyond))
        starts = np.maximum(np.arange(1, count.size) - rule.of, 0)
        broken = np.flatnonzero(beyond & (count[1:] - count[starts] >= rule.needed))
        if broken.size:
            last = int(broken[0])
            yield last, int(starts[last] + np.argmax(beyond[starts[last] :]))
