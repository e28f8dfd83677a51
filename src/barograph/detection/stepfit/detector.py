"""One trace by itself against the best step function (Skia's regression factor)."""

from dataclasses import dataclass
from typing import get_args

import numpy as np

from barograph.detection.base import Detector, Found, Observations, allowed, require
from barograph.detection.numerics import power_of_two
from barograph.detection.stepfit.step import SD_FLOOR, Fit, best_step, shapes
from barograph.series import Floats


@dataclass(frozen=True)
class StepFit(Detector):
    """The last commits of a trace, again and again: does their shape look like a step?

    Each look takes `window` points, normalises them, and fits the best step function; where
    |step / fit| exceeds `threshold`, its first point is a change point. Looks overlap by half, so
    that each step stands away from the edge of one of them; a step that two looks agree on is
    reported once. The statistic is the signed regression factor.

    Args:
        window: points of one look; the paper uses the last 100 to 250 commits.
        threshold: the paper's 150 asks for steps of some 17 standard deviations of the noise in a
            single trace; it was chosen for centroids, in which noise has averaged out.
        sd_floor: see `shapes`.
        fit: "mean" squared error, or the "sum" of the paper's definition: then the factor is
            smaller by the number of points.
    """

    window: int = 250
    threshold: float = 150.0
    sd_floor: float = SD_FLOOR
    fit: Fit = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.window >= 4, "window", self.window, "at least 4 points")
        require(0 < self.threshold < np.inf, "threshold", self.threshold, "positive and finite")
        require(0 <= self.sd_floor < np.inf, "sd_floor", self.sd_floor, "0 or more, and finite")
        allowed("fit", self.fit, get_args(Fit))

    @property
    def shortest(self) -> int:
        """Two points on each side: any two or three points are nearly a step."""
        return 4

    def find(self, series: Observations) -> list[Found]:
        """Fit a step to each look, and keep the interesting ones."""
        scaled = series.values / power_of_two(series.values)
        best: dict[int, Found] = {}
        for start in _starts(scaled.size, self.window):
            found = self._look(scaled[start : start + self.window], start)
            if found and abs(found.statistic) > abs(best.get(found.index, _NONE).statistic):
                best[found.index] = found
        return [best[index] for index in sorted(best)]

    def _look(self, values: Floats, start: int) -> Found | None:
        step = best_step(shapes(values.reshape(1, -1), self.sd_floor)[0], self.fit, self.sd_floor)
        if abs(step.regression) <= self.threshold:
            return None
        return Found(start + step.turn, step.regression)


_NONE = Found(index=-1, statistic=0.0)


def _starts(length: int, window: int) -> range | list[int]:
    """Where the looks begin: every half window, the last one ending with the series."""
    if length <= window:
        return [0]
    return [*range(0, length - window, window // 2), length - window]
