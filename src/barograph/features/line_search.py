"""The line search of Moré and Thuente (1994): a step with sufficient decrease and curvature.

An end of the interval is (step, value, slope); `low` has the smallest value so far.
"""

import numpy as np

from barograph.compiled import kernel

End = tuple[float, float, float]


@kernel
def next_trial(
    low: End, high: End, trial: End, bracketed: bool, shortest: float, longest: float
) -> tuple[End, End, float, bool]:
    """Return the new interval, the next step to try, and whether a minimum is enclosed."""
    opposite = trial[2] * np.sign(low[2]) < 0.0
    if trial[1] > low[1]:  # higher: a minimum is between
        cubic = cubic_minimum(low, trial, False)
        square = low[0] + 0.5 * (trial[0] - low[0]) * low[2] / (
            (low[1] - trial[1]) / (trial[0] - low[0]) + low[2]
        )
        closer = abs(cubic - low[0]) < abs(square - low[0])
        return low, trial, cubic if closer else cubic + 0.5 * (square - cubic), True
    if opposite:  # lower, and the slope changed its sign: a minimum is between
        cubic = cubic_minimum(trial, low, False)
        secant = secant_minimum(trial, low)
        farther = abs(cubic - trial[0]) > abs(secant - trial[0])
        return trial, low, cubic if farther else secant, True
    beyond = longest if trial[0] > low[0] else shortest
    if abs(trial[2]) < abs(low[2]):  # lower, and the slope is smaller
        cubic = cubic_minimum(trial, low, True)
        if np.isnan(cubic):
            cubic = beyond
        secant = secant_minimum(trial, low)
        closer = abs(cubic - trial[0]) < abs(secant - trial[0])
        step = cubic if closer == bracketed else secant
        if bracketed:
            limit = trial[0] + 0.66 * (high[0] - trial[0])
            step = min(limit, step) if trial[0] > low[0] else max(limit, step)
        else:
            step = min(max(step, shortest), longest)
        return trial, high, step, bracketed
    if bracketed:
        return trial, high, cubic_minimum(trial, high, False), bracketed
    return trial, high, beyond, bracketed


@kernel
def cubic_minimum(near: End, far: End, ahead: bool) -> float:
    """Return the minimum of the cubic through both ends.

    With `ahead`, the result is NaN unless the minimum is on the side of `near` away from `far`.
    """
    theta = 3.0 * (near[1] - far[1]) / (far[0] - near[0]) + near[2] + far[2]
    size = max(abs(theta), abs(near[2]), abs(far[2]))
    square = (theta / size) ** 2 - (near[2] / size) * (far[2] / size)
    root = size * np.sqrt(max(square, 0.0) if ahead else square)
    if far[0] < near[0]:
        root = -root
    numerator = (root - near[2]) + theta
    denominator = (
        (root + (far[2] - near[2])) + root if ahead else ((root - near[2]) + root) + far[2]
    )
    share = numerator / denominator
    if ahead and not (share < 0.0 and root != 0.0):
        return np.nan
    place: float = near[0] + share * (far[0] - near[0])
    return place


@kernel
def secant_minimum(near: End, far: End) -> float:
    """Return where the slope, linear between both ends, is zero."""
    return near[0] + near[2] / (near[2] - far[2]) * (far[0] - near[0])
