"""Holt's linear trend in smoothing form: the fit of sides of two to eight values.

The level starts at the first value and the trend at the first difference. Alpha and beta minimise
the sum of squared one-step errors, including that of the first value, in the unit square. The
stopping rule of the minimiser leaves digits undecided, so its steps are part of the definition.

Its line search is that of Moré and Thuente (1994), for a step with sufficient decrease and
curvature. An end of its interval is (step, value, slope); `low` has the smallest value so far.

The steps are those of L-BFGS-B, BFGS with limited memory and bounds, in the unit square (Byrd et
al. 1995). In two dimensions the compact representation of the Hessian is a plain 2 x 2 matrix. A
step goes to the Cauchy point, and from there to the minimum over the free coordinates, up to the
first bound. SciPy's version of the method takes other steps: it gave 176 of 400 random sides other
parameters, which differed by up to 0.02, and a fit took 2.5 ms.
"""

import numpy as np

from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

START_ALPHA = 0.2
START_BETA = 0.02
DIFFERENCE = 1e-3  # half the width of the central difference, less at the bounds
FLAT = 1e7 * 2.0**-52  # stop when an iteration lowers the sum by less, relatively
MAX_ITERATIONS = 100
MAX_TRIALS = 20  # of one line search
ARMIJO = 1e-3  # the share of the first slope that a step must gain
CURVATURE = 0.9  # the share of the first slope that may remain
NARROW = 0.1  # relative width of the interval that ends a line search
MEMORY = 5  # curvature pairs
MACHINE = 2.0**-52
End = tuple[float, float, float]
Pair = tuple[float, float]  # one number for alpha, one for beta
Hessian = tuple[float, float, float]  # b00, b01 and b11


@kernel
def fit_holt_winters(values: Floats) -> Pair:
    """Return the alpha and beta that minimise the sum of squared errors."""
    x = (START_ALPHA, START_BETA)
    memory = np.empty((MEMORY, 4))  # the pairs (s, y), oldest first
    pairs = 0
    scale = 1.0  # of the identity that the Hessian starts from
    value, g = gradient(values, x)
    iterations = 0
    while iterations < MAX_ITERATIONS and descent(x, g) != (0.0, 0.0):
        hessian = remembered_hessian(memory, pairs, scale)
        target, free = cauchy_point(x, g, hessian)
        if pairs > 0:
            target = subspace_step(x, g, hessian, free, target)
        longest = longest_step(x, target) if iterations > 0 else 1.0
        step, new_value, new_x, new_g = search(values, x, value, g, target, longest)
        if step == 0.0:  # no step lowers the sum: discard the curvature, or stop
            if pairs == 0:
                break
            pairs, scale = 0, 1.0
            continue
        iterations += 1
        pairs, scale = remember(memory, pairs, scale, x, g, new_x, new_g)
        drop, largest = value - new_value, max(abs(value), abs(new_value), 1.0)
        x, g, value = new_x, new_g, new_value
        if drop <= FLAT * largest:
            break
    return x


@kernel
def smoothed_errors(values: Floats, alpha: float, beta: float) -> float:
    """Return the sum of squared one-step errors."""
    level = values[0]
    trend = values[1] - values[0]
    total = 0.0
    for value in values:
        forecast = level + trend
        error = value - forecast
        total += error * error
        risen = alpha * value + (1.0 - alpha) * forecast
        trend = beta * (risen - level) + (1.0 - beta) * trend
        level = risen
    return total


@kernel
def gradient(values: Floats, x: Pair) -> tuple[float, Pair]:
    """Return the function value, and its central differences."""
    alpha, beta = x
    low, high, width = neighbours(alpha)
    rise = smoothed_errors(values, high, beta) - smoothed_errors(values, low, beta)
    left, right, breadth = neighbours(beta)
    lift = smoothed_errors(values, alpha, right) - smoothed_errors(values, alpha, left)
    return smoothed_errors(values, alpha, beta), (rise / width, lift / breadth)


@kernel
def neighbours(x: float) -> tuple[float, float, float]:
    """Return both ends of a central difference and its width, less at the bounds."""
    low, high = max(x - DIFFERENCE, 0.0), min(x + DIFFERENCE, 1.0)
    up = high - x if high == 1.0 else DIFFERENCE
    return low, high, up + (x - low if low == 0.0 else DIFFERENCE)


@kernel
def search(
    values: Floats, x: Pair, value: float, g: Pair, target: Pair, longest: float
) -> tuple[float, float, Pair, Pair]:
    """Search from x towards the target; return the step, 0 if there is none, and what it leads to.

    That is the value, the point and the gradient.
    """
    d0, d1 = target[0] - x[0], target[1] - x[1]
    slope = g[0] * d0 + g[1] * d1
    if not slope < 0.0:
        return 0.0, value, x, g
    required = ARMIJO * slope
    low = high = (0.0, value, slope)
    bracketed, sloped = False, False
    shortest, farthest, step = 0.0, 5.0, 1.0
    width, last_width = longest, 2.0 * longest
    for _ in range(MAX_TRIALS):
        new_x = target if step == 1.0 else (step * d0 + x[0], step * d1 + x[1])
        f, new_g = gradient(values, new_x)
        df = new_g[0] * d0 + new_g[1] * d1
        enough = f <= value + step * required
        sloped = sloped or (enough and df >= required)
        is_flat = abs(df) <= -CURVATURE * slope or (step == longest and df <= required)
        if (enough and is_flat) or (bracketed and is_spent(step, shortest, farthest)):
            return step, f, new_x, new_g
        # Until a step has both properties, the search minimises the height above the required line.
        tilt = required if not sloped and f <= low[1] and not enough else 0.0
        low, high, trial = tilted(low, tilt), tilted(high, tilt), tilted((step, f, df), tilt)
        low, high, step, bracketed = next_trial(low, high, trial, bracketed, shortest, farthest)
        low, high = tilted(low, -tilt), tilted(high, -tilt)
        if bracketed:
            gap = abs(high[0] - low[0])
            if gap >= 0.66 * last_width:
                step = low[0] + 0.5 * (high[0] - low[0])
            last_width, width = width, gap
            shortest, farthest = min(low[0], high[0]), max(low[0], high[0])
        else:
            shortest, farthest = low[0], step + 4.0 * (step - low[0])
        step = min(max(step, 0.0), longest)
        if bracketed and is_spent(step, shortest, farthest):
            step = low[0]
    return 0.0, value, x, g


@kernel
def is_spent(step: float, shortest: float, farthest: float) -> bool:
    """Return whether a step is outside the interval of its search, or the interval is narrow."""
    return not shortest < step < farthest or farthest - shortest <= NARROW * farthest


@kernel
def tilted(end: End, slope: float) -> End:
    """Subtract a line through the origin from an end of the interval."""
    return end[0], end[1] - end[0] * slope, end[2] - slope


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


@kernel
def descent(x: Pair, g: Pair) -> Pair:
    """Return the steepest descent, 0 for a coordinate that would leave the unit square."""
    d0 = -g[0] if room(x[0], -g[0]) > 0.0 else 0.0
    return d0, -g[1] if room(x[1], -g[1]) > 0.0 else 0.0


@kernel
def room(x: float, d: float) -> float:
    """Return the multiple of `d` at which a coordinate reaches its bound, infinity for 0."""
    if d == 0.0:
        return np.inf
    return (1.0 - x) / d if d > 0.0 else -x / d


@kernel
def remembered_hessian(memory: Floats, pairs: int, scale: float) -> Hessian:
    """Return the scaled identity, updated by each pair in turn."""
    b00, b01, b11 = scale, 0.0, scale
    for k in range(pairs):
        s0, s1, y0, y1 = memory[k]
        p0, p1 = b00 * s0 + b01 * s1, b01 * s0 + b11 * s1
        curve, slope = s0 * p0 + s1 * p1, s0 * y0 + s1 * y1
        b00 += y0 * y0 / slope - p0 * p0 / curve
        b01 += y0 * y1 / slope - p0 * p1 / curve
        b11 += y1 * y1 / slope - p1 * p1 / curve
    return b00, b01, b11


@kernel
def cauchy_point(x: Pair, g: Pair, hessian: Hessian) -> tuple[Pair, tuple[bool, bool]]:
    """Return the first minimum of the quadratic along the projected steepest descent.

    Returns:
        The point, and for each coordinate whether it is free: it has not reached a bound.
    """
    b00, b01, b11 = hessian
    t0, t1 = room(x[0], -g[0]), room(x[1], -g[1])
    d0, d1 = descent(x, g)
    z0 = z1 = done = 0.0
    while d0 != 0.0 or d1 != 0.0:
        end = min(t0 if d0 != 0.0 else np.inf, t1 if d1 != 0.0 else np.inf)
        slope = (g[0] + b00 * z0 + b01 * z1) * d0 + (g[1] + b01 * z0 + b11 * z1) * d1
        curve = b00 * d0 * d0 + 2.0 * b01 * d0 * d1 + b11 * d1 * d1
        ahead = max(-slope / curve, 0.0)
        if not ahead >= end - done:
            z0 += ahead * d0
            z1 += ahead * d1
            break
        if (d0 != 0.0 and t0 <= t1) or d1 == 0.0:
            z0, z1 = (1.0 if d0 > 0.0 else 0.0) - x[0], z1 + (end - done) * d1
            d0 = 0.0
        else:
            z0, z1 = z0 + (end - done) * d0, (1.0 if d1 > 0.0 else 0.0) - x[1]
            d1 = 0.0
        done = end
    return (x[0] + z0, x[1] + z1), (d0 != 0.0, d1 != 0.0)


@kernel
def subspace_step(
    x: Pair, g: Pair, hessian: Hessian, free: tuple[bool, bool], target: Pair
) -> Pair:
    """Return the minimum over the free coordinates, or the bound on the way from the Cauchy point.

    `target` is the Cauchy point.
    """
    b00, b01, b11 = hessian
    z0, z1 = target[0] - x[0], target[1] - x[1]
    r0, r1 = -(g[0] + b00 * z0 + b01 * z1), -(g[1] + b01 * z0 + b11 * z1)
    d0 = d1 = 0.0
    if free[0] and free[1]:
        determinant = b00 * b11 - b01 * b01
        d0, d1 = (b11 * r0 - b01 * r1) / determinant, (b00 * r1 - b01 * r0) / determinant
    elif free[0]:
        d0 = r0 / b00
    elif free[1]:
        d1 = r1 / b11
    room0, room1 = room(target[0], d0), room(target[1], d1)
    share = min(1.0, room0, room1)
    y0, y1 = target[0] + share * d0, target[1] + share * d1
    if share < 1.0 and room0 <= room1:
        y0 = 1.0 if d0 > 0.0 else 0.0
    elif share < 1.0:
        y1 = 1.0 if d1 > 0.0 else 0.0
    return y0, y1


@kernel
def longest_step(x: Pair, target: Pair) -> float:
    """Return the multiple of the step to the target that reaches the first bound."""
    return min(room(x[0], target[0] - x[0]), room(x[1], target[1] - x[1]), 1e10)


@kernel
def remember(
    memory: Floats, pairs: int, scale: float, x: Pair, g: Pair, new_x: Pair, new_g: Pair
) -> tuple[int, float]:
    """Store the pair of an iteration unless it has no curvature; return count and scale."""
    s0, s1, y0, y1 = new_x[0] - x[0], new_x[1] - x[1], new_g[0] - g[0], new_g[1] - g[1]
    curvature = s0 * y0 + s1 * y1
    if curvature <= -MACHINE * (g[0] * s0 + g[1] * s1):
        return pairs, scale
    if pairs == MEMORY:
        memory[:-1] = memory[1:].copy()
        pairs -= 1
    memory[pairs, 0], memory[pairs, 1], memory[pairs, 2], memory[pairs, 3] = s0, s1, y0, y1
    return pairs + 1, (y0 * y0 + y1 * y1) / curvature
