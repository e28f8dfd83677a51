"""The contrasts that depend on Pre and After only."""

import math

import numpy as np

from barograph.features.contrast.robust import (
    LEAST,
    ROUNDING,
    bimodality,
    direction,
    lag1,
    log_ratio,
    median,
    merged,
    noise_and_deviation,
    rank_separation,
    usual_move,
)
from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

NAMES = (
    "step_over_noise",
    "step_t",
    "cohen_d",
    "rank_separation",
    "spread_change",
    "step_relative",
    "noise_relative",
    "jump_over_moves",
    "jump_share",
    "pre_length",
    "after_length",
    "pre_lag1",
    "pre_slope",
    "after_slope",
    "bimodality",
    "pre_tail",
    "after_tail",
    "step_12",
)
# The points on each side that the last column compares.
NEAR = 12


@kernel
def sides_into(pre: Floats, after: Floats, out: Floats) -> None:
    """Fill the columns of one candidate, whose values are scaled into -1 to 1."""
    pre_sorted, after_sorted = np.sort(pre), np.sort(after)
    low, high = median(pre_sorted), median(after_sorted)
    lowest = min(pre_sorted[0], after_sorted[0])
    floor = LEAST * (max(pre_sorted[-1], after_sorted[-1]) - lowest) + ROUNDING
    sign = direction(pre, after, high - low)
    step = abs(high - low) if sign != 0.0 else 0.0
    noise, deviation = noise_and_deviation(pre_sorted, after_sorted, low, high)
    noise += floor
    weight = math.sqrt(pre.size * after.size / (pre.size + after.size))
    out[0] = log_ratio(step, noise)
    out[1] = log_ratio(step * weight, noise)
    out[2] = log_ratio(abs(after.mean() - pre.mean()), deviation + floor)
    out[3] = abs(rank_separation(pre_sorted, after_sorted))
    out[4] = _spread_change(pre_sorted, after_sorted, low, high, floor)
    level = 0.5 * (abs(low) + abs(high))
    out[5] = log_ratio(step, level + floor)
    out[6] = log_ratio(noise, level + floor)
    jump = sign * (after[0] - pre[-1])
    out[7] = log_ratio(jump, max(usual_move(pre), usual_move(after)) + floor)
    out[8] = jump / (step + noise)
    out[9], out[10] = math.log(pre.size), math.log(after.size)
    out[11] = lag1(pre, pre.mean())
    out[12] = sign * _rise(pre) / (step + noise)
    out[13] = sign * _rise(after) / (step + noise)
    out[14] = bimodality(merged(pre_sorted, after_sorted))
    out[15] = log_ratio(max(pre_sorted[-1] - low, low - pre_sorted[0]), noise)
    out[16] = log_ratio(max(after_sorted[-1] - high, high - after_sorted[0]), noise)
    near, far = np.sort(pre[-NEAR:]), np.sort(after[:NEAR])
    a, b = median(near), median(far)
    out[17] = log_ratio(sign * (b - a), noise_and_deviation(near, far, a, b)[0] + 0.1 * noise)


@kernel
def _spread_change(before: Floats, after: Floats, low: float, high: float, floor: float) -> float:
    """Return |log of the ratio of the noises|, whichever side is noisier."""
    earlier = noise_and_deviation(before, before[:0], low, low)[0] + floor
    later = noise_and_deviation(after, after[:0], high, high)[0] + floor
    return abs(math.log(later / earlier))


@kernel
def _rise(values: Floats) -> float:
    """Return how much the least-squares line rises from the first value to the last."""
    if values.size < 2:
        return 0.0
    middle = 0.5 * (values.size - 1)
    products = squares = 0.0
    for i in range(values.size):
        products += (i - middle) * values[i]
        squares += (i - middle) ** 2
    return products / squares * (values.size - 1)
