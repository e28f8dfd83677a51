"""Holt's linear trend in state-space form: the fit of sides of nine or more values.

Innovations form, ETS(A,A,N) and ETS(A,Ad,N): the forecast is l + phi b; after its error e the level
is l + phi b + alpha e and the trend phi b + beta e. The parameters minimise n ln(sum e^2) by the
simplex of Nelder and Mead (1965). The result depends on the vertices that the simplex visits, so
the order of its comparisons and of the sums over vertices is part of the definition. The sum of
squares may be fused: its rounding does not change a decision on any golden side.
"""

import numpy as np

from barograph.results.series import Floats
from barograph.runtime.compiled import fused_kernel, kernel

SMOOTHING_LOW = 1e-4
SMOOTHING_HIGH = 0.9999
DAMPING_LOW = 0.8
DAMPING_HIGH = 0.98
START_ALPHA = SMOOTHING_LOW + 0.2 * (SMOOTHING_HIGH - SMOOTHING_LOW)
START_BETA = SMOOTHING_LOW + 0.1 * (START_ALPHA - SMOOTHING_LOW)
START_PHI = DAMPING_LOW + 0.99 * (DAMPING_HIGH - DAMPING_LOW)
START_POINTS = 10  # at most this many values determine the first level and trend
PERFECT_FIT = -1e10  # the lower limit of the objective
TOLERANCE = 2.0**-26  # relative, on n ln(sum e^2)
OUTSIDE = 1e35  # the objective outside the bounds
MAX_EVALUATIONS = 2000
DAMPED = 5  # alpha, beta, phi, level, trend; the undamped model has no phi
# The rows of the work space: six vertices, their centroid, two trials. The columns: the parameters
# and the objective.
WORKSPACE = (DAMPED + 4, DAMPED + 1)


@kernel
def fit_ets(values: Floats, workspace: Floats) -> tuple[float, float]:
    """Return alpha and beta of the damped or the undamped model, whichever has the lower AICc."""
    level, trend = starting_line(values)
    start = workspace[0]
    start[0], start[1], start[2] = START_ALPHA, START_BETA, START_PHI
    start[3], start[4] = level, trend
    damped = nelder_mead(values, DAMPED, workspace)
    alpha, beta = workspace[damped, 0], workspace[damped, 1]
    score = corrected_aic(workspace[damped, DAMPED], values.size, DAMPED)
    start[0], start[1], start[2], start[3] = START_ALPHA, START_BETA, level, trend
    plain = nelder_mead(values, DAMPED - 1, workspace)
    if corrected_aic(workspace[plain, DAMPED - 1], values.size, DAMPED - 1) < score:
        return workspace[plain, 0], workspace[plain, 1]
    return alpha, beta


@kernel
def corrected_aic(fit: float, count: int, parameters: int) -> float:
    """Return the AICc; the variance of the errors counts as a parameter."""
    k = parameters + 1.0
    return fit + 2.0 * k + 2.0 * k * (k + 1.0) / (count - k - 1.0)


@kernel
def starting_line(values: Floats) -> tuple[float, float]:
    """Return intercept and slope of the least-squares line through the first values at 1, 2, ...

    It uses Householder reflections, because the simplex starts from their rounding, written out for
    the two columns 1 and t. A reflection is stored as in LINPACK: its vector starts with
    1 + |x_1| / norm.
    """
    count = min(START_POINTS, values.size)
    norm = np.sqrt(float(count))
    rest = 1.0 / norm
    head = 1.0 + rest
    times, observed = 0.0, 0.0
    for i in range(count):
        weight = head if i == 0 else rest
        times -= weight * (i + 1.0)
        observed -= weight * values[i]
    times /= head
    observed /= head
    corner = 1.0 + times * head
    top = values[0] + observed * head
    square = 0.0
    for i in range(1, count):
        square += (i + 1.0 + times * rest) ** 2
    second = np.sqrt(square)
    if 2.0 + times * rest < 0.0:
        second = -second
    lead = 1.0 + (2.0 + times * rest) / second
    mix = 0.0
    for i in range(1, count):
        weight = lead if i == 1 else (i + 1.0 + times * rest) / second
        mix -= weight * (values[i] + observed * rest)
    mix /= lead
    slope = (values[1] + observed * rest + mix * lead) / -second
    level = (top - slope * corner) / -norm
    if abs(level + slope) < 1e-8:
        return level * (1.0 + 1e-3), slope * (1.0 - 1e-3)
    return level, slope


@fused_kernel
def squared_errors(
    values: Floats, alpha: float, beta: float, phi: float, level: float, trend: float
) -> float:
    """Return the sum of the squared one-step errors from the state before the first value."""
    damped = phi * trend
    forecast = level + damped
    gain = alpha + phi * beta
    trend_gain = phi * beta
    total = 0.0
    # Forecast and damped trend are carried instead of level and trend: a chain of two operations.
    for i in range(values.size):
        error = values[i] - forecast
        damped *= phi
        forecast = (forecast + damped) + gain * error
        damped += trend_gain * error
        total += error * error
    return total


@kernel
def evaluate(values: Floats, size: int, workspace: Floats, row: int) -> float:
    """Store the objective n ln(sum e^2) of a row after its parameters, and return it.

    It is `OUTSIDE` outside the bounds and where the sum overflows.
    """
    alpha, beta = workspace[row, 0], workspace[row, 1]
    phi = workspace[row, 2] if size == DAMPED else 1.0
    fit = OUTSIDE
    inside = SMOOTHING_LOW <= alpha <= SMOOTHING_HIGH and SMOOTHING_LOW <= beta <= alpha
    if inside and (size < DAMPED or DAMPING_LOW <= phi <= DAMPING_HIGH):
        level, trend = workspace[row, size - 2], workspace[row, size - 1]
        total = squared_errors(values, alpha, beta, phi, level, trend)
        if np.isfinite(total):
            fit = max(values.size * np.log(total), PERFECT_FIT)
    workspace[row, size] = fit
    return fit


@kernel
def nelder_mead(values: Floats, size: int, workspace: Floats) -> int:
    """Minimise from row 0 of the workspace; return the row of the best vertex.

    Reflection 1, contraction 1/2, expansion 2. Column `size` holds the objective of each row.
    """
    centroid, trial, further = size + 1, size + 2, size + 3
    width = first_simplex(size, workspace)
    start = evaluate(values, size, workspace, 0)
    tolerance = TOLERANCE * (abs(start) + TOLERANCE)
    evaluate_others(values, size, workspace, 0)
    evaluations = size + 1
    best = 0
    while True:
        best, worst = extremes(size, workspace, best)
        low, high = workspace[best, size], workspace[worst, size]
        if high <= low + tolerance or evaluations > MAX_EVALUATIONS:
            return best
        reflect(size, workspace, worst, centroid, trial)
        reflected = evaluate(values, size, workspace, trial)
        evaluations += 2
        if reflected < low:
            blend(size, workspace, further, 2.0, trial, -1.0, centroid)
            expanded = evaluate(values, size, workspace, further)
            copy(size, workspace, worst, further if expanded < reflected else trial)
            continue
        if reflected < high:
            copy(size, workspace, worst, trial)
        blend(size, workspace, further, 0.5, worst, 0.5, centroid)
        contracted = evaluate(values, size, workspace, further)
        if contracted < workspace[worst, size]:
            copy(size, workspace, worst, further)
        elif reflected >= high:
            left = shrink(size, workspace, best)
            if left >= width:
                return best
            width = left
            evaluate_others(values, size, workspace, best)
            evaluations += size


@kernel
def evaluate_others(values: Floats, size: int, workspace: Floats, best: int) -> None:
    """Compute the objective of all vertices except the best."""
    for j in range(size + 1):
        if j != best:
            evaluate(values, size, workspace, j)


@kernel
def first_simplex(size: int, workspace: Floats) -> float:
    """Build the other vertices, each one step along one axis; return ten times all steps.

    On every axis the step is a tenth of the largest parameter, so it depends on the scale of the
    data. It grows tenfold until rounding does not hide it.
    """
    step = 0.0
    for i in range(size):
        step = max(step, 0.1 * abs(workspace[0, i]))
    if step == 0.0:
        step = 0.1
    total = 0.0
    for i in range(size):
        copy(size, workspace, i + 1, 0)
        reach = step
        while workspace[i + 1, i] == workspace[0, i]:
            workspace[i + 1, i] = workspace[0, i] + reach
            reach *= 10.0
        total += reach
    return total


@kernel
def extremes(size: int, workspace: Floats, best: int) -> tuple[int, int]:
    """Return the best and the worst vertex; a tie keeps the former best, then the first vertex."""
    low = high = best
    for j in range(size + 1):
        if workspace[j, size] < workspace[low, size]:
            low = j
        if workspace[j, size] > workspace[high, size]:
            high = j
    return low, high


@kernel
def reflect(size: int, workspace: Floats, worst: int, centroid: int, trial: int) -> None:
    """Fill the centroid of all but the worst vertex, and the reflection of the worst through it."""
    for i in range(size):
        total = -workspace[worst, i]
        for j in range(size + 1):
            total += workspace[j, i]
        workspace[centroid, i] = total / size
    blend(size, workspace, trial, 2.0, centroid, -1.0, worst)


@kernel
def blend(size: int, workspace: Floats, out: int, of_a: float, a: int, of_b: float, b: int) -> None:
    """Fill a row with the weighted sum of two rows."""
    for i in range(size):
        workspace[out, i] = of_a * workspace[a, i] + of_b * workspace[b, i]


@kernel
def copy(size: int, workspace: Floats, out: int, row: int) -> None:
    """Copy a row, including its function value."""
    for i in range(size + 1):
        workspace[out, i] = workspace[row, i]


@kernel
def shrink(size: int, workspace: Floats, best: int) -> float:
    """Move every vertex halfway to the best; return the sum of the remaining distances."""
    left = 0.0
    for j in range(size + 1):
        if j != best:
            for i in range(size):
                gap = 0.5 * (workspace[j, i] - workspace[best, i])
                workspace[j, i] = gap + workspace[best, i]
                left += abs(workspace[j, i] - workspace[best, i])
    return left
