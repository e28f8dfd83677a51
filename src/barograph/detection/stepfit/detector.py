"""A single trace compared with the best step function (Skia's regression factor)."""

from dataclasses import dataclass
from typing import get_args

import numpy as np

from barograph.detection.base import Detector, RawChangePoint, allowed, require
from barograph.detection.numerics import power_of_two
from barograph.detection.stepfit.step import SD_FLOOR, Fit, best_step, shapes
from barograph.results.series import Floats


@dataclass(frozen=True)
class StepFit(Detector):
    """Fit step functions to windows of a trace.

    Each window is normalised and fitted with the best step function. If |step / fit| exceeds
    `threshold`, the first point of the new level is a change point. Windows overlap by half, so
    that each step is away from the edge of a window; a step that two windows agree on is reported
    once. The statistic is the signed regression factor.

    Args:
        window: Points of a window; the paper uses the last 100 to 250 commits.
        threshold: Smallest |step / fit| to report. The paper's 150 needs steps of about 17
            standard deviations of the noise in a single trace; it was chosen for centroids, in
            which noise averages out.
        sd_floor: See `shapes`.
        fit: "mean" squared error, or the "sum" of the paper's definition, which makes the factor
            smaller by the number of points.

    Example:
        >>> values = [10.0, 10.1, 9.9] * 10 + [20.0, 20.1, 19.9] * 10
        >>> StepFit().fit_predict(values)
        array([30])
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
        """Two points on each side: any two or three points look like a step."""
        return 4

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the steps above the threshold, the clearest of equals."""
        scaled = values / power_of_two(values)
        best: dict[int, RawChangePoint] = {}
        for start in _starts(scaled.size, self.window):
            point = self._fit_window(scaled[start : start + self.window], start)
            if point and abs(point.statistic) > abs(best.get(point.index, _NONE).statistic):
                best[point.index] = point
        return [best[index] for index in sorted(best)]

    def _fit_window(self, values: Floats, start: int) -> RawChangePoint | None:
        step = best_step(shapes(values.reshape(1, -1), self.sd_floor)[0], self.fit, self.sd_floor)
        if abs(step.regression) <= self.threshold:
            return None
        return RawChangePoint(start + step.turn, step.regression)


_NONE = RawChangePoint(index=-1, statistic=0.0)


def _starts(length: int, window: int) -> range | list[int]:
    """Return the starts of windows: every half window, and one that ends with the series."""
    if length <= window:
        return [0]
    return [*range(0, length - window, window // 2), length - window]
