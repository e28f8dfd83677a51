"""The contrasts that Pre and After hold by themselves."""

import math

import numpy as np

from barograph.compiled import kernel
from barograph.features.contrast.robust import (
    LEAST,
    ROUNDING,
    bimodality,
    direction,
    lag1,
    log_ratio,
    median,
    merged,
    rank_separation,
    spread,
    usual_move,
)
from barograph.series import Floats

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
# The points on either side that "near the split" means.
NEAR = 12


@kernel
def sides_into(pre: Floats, after: Floats, out: Floats) -> None:
    """Fill the numbers of one pair, its values scaled into -1 to 1."""
    before, behind = np.sort(pre), np.sort(after)
    low, high = median(before), median(behind)
    lowest = min(before[0], behind[0])
    floor = LEAST * (max(before[-1], behind[-1]) - lowest) + ROUNDING
    sign = direction(pre, after, high - low)
    step = abs(high - low) if sign != 0.0 else 0.0
    noise, deviation = spread(before, behind, low, high)
    noise += floor
    weight = math.sqrt(pre.size * after.size / (pre.size + after.size))
    out[0] = log_ratio(step, noise)
    out[1] = log_ratio(step * weight, noise)
    out[2] = log_ratio(abs(after.mean() - pre.mean()), deviation + floor)
    out[3] = abs(rank_separation(before, behind))
    out[4] = _spread_change(before, behind, low, high, floor)
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
    out[14] = bimodality(merged(before, behind))
    out[15] = log_ratio(max(before[-1] - low, low - before[0]), noise)
    out[16] = log_ratio(max(behind[-1] - high, high - behind[0]), noise)
    near, far = np.sort(pre[-NEAR:]), np.sort(after[:NEAR])
    a, b = median(near), median(far)
    out[17] = log_ratio(sign * (b - a), spread(near, far, a, b)[0] + 0.1 * noise)


@kernel
def _spread_change(before: Floats, after: Floats, low: float, high: float, floor: float) -> float:
    """Return |log of the ratio of the spreads|: which side is the noisier does not matter."""
    wide = spread(before, before[:0], low, low)[0] + floor
    late = spread(after, after[:0], high, high)[0] + floor
    return abs(math.log(late / wide))


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
