"""The shape of a trace, and the step function nearest to it (Skia's regression factor)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from barograph.detection.base import Detector, RawChangePoint, require
from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

SD_FLOOR = 1e-3
ROUNDING = 1e-12  # the error of an exact step is 0; errors below this are rounding


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

    Example:
        >>> values = [10.0, 10.1, 9.9] * 10 + [20.0, 20.1, 19.9] * 10
        >>> StepFit().fit_predict(values)
        array([30])
    """

    window: int = 250
    threshold: float = 150.0
    sd_floor: float = SD_FLOOR

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.window >= 4, "window", self.window, "at least 4 points")
        require(0 < self.threshold < np.inf, "threshold", self.threshold, "positive and finite")
        require(0 <= self.sd_floor < np.inf, "sd_floor", self.sd_floor, "0 or more, and finite")

    @property
    def shortest(self) -> int:
        """Two points on each side: any two or three points look like a step."""
        return 4

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the steps above the threshold, the clearest of equals."""
        best: dict[int, RawChangePoint] = {}
        for start in _starts(values.size, self.window):
            point = self._fit_window(values[start : start + self.window], start)
            if point and abs(point.statistic) > abs(best.get(point.index, _NONE).statistic):
                best[point.index] = point
        return [best[index] for index in sorted(best)]

    def _fit_window(self, values: Floats, start: int) -> RawChangePoint | None:
        step = best_step(shapes(values.reshape(1, -1), self.sd_floor)[0], self.sd_floor)
        if abs(step.regression) <= self.threshold:
            return None
        return RawChangePoint(start + step.turn, step.regression)


_NONE = RawChangePoint(index=-1, statistic=0.0)


def _starts(length: int, window: int) -> range | list[int]:
    """Return the starts of windows: every half window, and one that ends with the series."""
    if length <= window:
        return [0]
    return [*range(0, length - window, window // 2), length - window]


@kernel
def shapes(traces: Floats, sd_floor: float) -> Floats:
    """Normalise every row; NaN takes the value before it, or the first value at the start.

    A row whose standard deviation is below `sd_floor` times its mean magnitude is divided by its
    mean magnitude instead, which leaves it nearly flat. The paper's limit has the unit of its
    traces; a share suits every unit. A row without any value becomes 0.
    """
    rows, length = traces.shape
    result = np.zeros((rows, length))
    for row in range(rows):
        shape = result[row]
        first = 0
        while first < length and np.isnan(traces[row, first]):
            first += 1
        if first == length:
            continue
        last = traces[row, first]
        total = 0.0
        for t in range(length):
            if not np.isnan(traces[row, t]):
                last = traces[row, t]
            shape[t] = last
            total += last
        mean = total / length
        magnitude, squares = 0.0, 0.0
        for t in range(length):
            magnitude += abs(shape[t])
            shape[t] -= mean
            squares += shape[t] * shape[t]
        magnitude /= length
        sd = np.sqrt(squares / length)
        width = sd if sd > sd_floor * magnitude else magnitude
        if width > 0.0:
            shape /= width
    return result


class StepFunction(NamedTuple):
    """A step function: first point of the new level, height, squared error, and R."""

    turn: int
    height: float
    fit: float
    regression: float


def best_step(shape: Floats, floor: float) -> StepFunction:
    """Return the step function with the least mean squared error.

    Args:
        shape: At least two values.
        floor: Smallest error to divide by. R = step / fit grows as a shape gets flatter, so that
            without a floor the rounding of a nearly constant trace would look like a step. The
            floor of the standard deviation, used here too, keeps such an R below 16.
    """
    n = shape.size
    before = np.arange(1, n)
    after = n - before
    sums = np.cumsum(shape)
    heights = (sums[-1] - sums[:-1]) / after - sums[:-1] / before
    # The error of two levels is the error of one level minus this gain.
    turn = int(np.argmax(before * after / n * heights**2)) + 1
    left, right = shape[:turn], shape[turn:]
    error = float(((left - left.mean()) ** 2).sum() + ((right - right.mean()) ** 2).sum())
    height = float(right.mean() - left.mean())
    return StepFunction(turn, height, error / n, height / max(error / n, floor, ROUNDING))
