"""The step function nearest to a shape, and how much the shape looks like it."""

from typing import Literal, NamedTuple

import numpy as np

from barograph.series import Floats

Fit = Literal["mean", "sum"]

# A shape that is a step to the last bit would divide by 0: errors below this are rounding.
ROUNDING = 1e-12


class Step(NamedTuple):
    """A step function: its first point on the new level, its height, how well it fits, and R."""

    turn: int
    height: float
    fit: float
    regression: float


def best_step(shape: Floats, fit: Fit, floor: float) -> Step:
    """Return the step function with the least squared error over all places of the step.

    Args:
        shape: at least two values.
        fit: "mean" squared error as in the paper's summary, or the "sum" of its definition.
        floor: least error to divide by. R = step / fit grows as a shape gets flatter, so without
            it the rounding of a trace that was too quiet to be normalised would look like a step;
            the floor of the standard deviation, used here too, keeps such an R below 16.
    """
    n = shape.size
    before = np.arange(1, n)
    after = n - before
    sums = np.cumsum(shape)
    heights = (sums[-1] - sums[:-1]) / after - sums[:-1] / before
    # The error of two levels is that of one less this gain: the best step gains most.
    turn = int(np.argmax(before * after / n * heights**2)) + 1
    left, right = shape[:turn], shape[turn:]
    error = float(((left - left.mean()) ** 2).sum() + ((right - right.mean()) ** 2).sum())
    height = float(right.mean() - left.mean())
    error = error / n if fit == "mean" else error
    return Step(turn, height, error, height / max(error, floor, ROUNDING))
