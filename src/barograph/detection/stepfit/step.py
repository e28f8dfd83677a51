"""The shape of a trace, and the step function nearest to it (Skia, Definitions)."""

from typing import Literal, NamedTuple

import numpy as np

from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

SD_FLOOR = 1e-3


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


Fit = Literal["mean", "sum"]

# The error of an exact step is 0; errors below this are rounding.
ROUNDING = 1e-12


class StepFunction(NamedTuple):
    """A step function: first point of the new level, height, squared error, and R."""

    turn: int
    height: float
    fit: float
    regression: float


def best_step(shape: Floats, fit: Fit, floor: float) -> StepFunction:
    """Return the step function with the least squared error.

    Args:
        shape: At least two values.
        fit: "mean" squared error as in the paper's summary, or the "sum" of its definition.
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
    error = error / n if fit == "mean" else error
    return StepFunction(turn, height, error, height / max(error, floor, ROUNDING))
