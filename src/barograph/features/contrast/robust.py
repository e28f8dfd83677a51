"""Robust statistics of values scaled into -1 to 1, which the contrasts are computed from."""

import math

import numpy as np

from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

# Smaller differences of scaled values are rounding errors, not steps.
ROUNDING = 1e-14
# The noise is at least this part of the range, so that a step between constants stays finite.
LEAST = 1e-9
# The MAD of Gaussian noise is this part of its standard deviation. The median of |x[i+1] - x[i]| is
# larger by the square root of two.
MAD_OF_GAUSS = 0.6744897501960817


@kernel
def scaled(values: Floats) -> Floats:
    """Return a copy scaled by the largest magnitude, so that sums and squares do not overflow."""
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    copy = np.empty(values.size)
    for i in range(values.size):
        copy[i] = values[i] / largest if largest > 0.0 else 0.0
    return copy


@kernel
def median(ordered: Floats) -> float:
    """Return the median of sorted values."""
    size = ordered.size
    return 0.5 * float(ordered[(size - 1) // 2] + ordered[size // 2])


@kernel
def middle_distance(ordered: Floats, level: float) -> float:
    """Return the median distance of sorted values from their median, by bisection.

    Distances rise on both sides of the median; `taken` of the nearest half + 1 values are below it.
    """
    half = ordered.size // 2
    middle = ordered.size - half  # the first value above the median
    taken, most = 1, middle
    while taken < most:
        guess = (taken + most) // 2
        if ordered[middle + half - guess] - level <= level - ordered[middle - 1 - guess]:
            most = guess
        else:
            taken = guess + 1
    below = level - float(ordered[middle - taken])
    above = float(ordered[middle + half - taken]) - level if taken <= half else -np.inf
    if ordered.size % 2:
        return max(below, above)
    if below >= above:
        nearer = level - float(ordered[middle - taken + 1]) if taken > 1 else -np.inf
        return 0.5 * (below + max(nearer, above))
    nearer = float(ordered[middle + half - taken - 1]) - level if taken < half else -np.inf
    return 0.5 * (above + max(nearer, below))


@kernel
def quantile(ordered: Floats, share: float) -> float:
    """Return a quantile of sorted values, interpolated."""
    place = (ordered.size - 1) * share
    low = int(place)
    if low + 1 >= ordered.size:
        return float(ordered[-1])
    below, above = float(ordered[low]), float(ordered[low + 1])
    return below + (above - below) * (place - low)


@kernel
def direction(before: Floats, after: Floats, step: float) -> float:
    """Return the sign of the step between medians, or between means where these are equal."""
    if abs(step) <= ROUNDING:
        step = after.mean() - before.mean()
    if abs(step) <= ROUNDING:
        return 0.0
    return 1.0 if step > 0.0 else -1.0


@kernel
def rank_separation(before: Floats, after: Floats) -> float:
    """Return P(after > before) - P(after < before) of sorted values (Cliff's delta)."""
    below = reached = 0
    total = 0.0
    for value in after:
        while below < before.size and before[below] < value:
            below += 1
        while reached < before.size and before[reached] <= value:
            reached += 1
        total += below + reached - before.size
    return total / (before.size * after.size)


@kernel
def noise_and_deviation(
    before: Floats, after: Floats, low: float, high: float
) -> tuple[float, float]:
    """Return noise and standard deviation of two sorted sides around their medians.

    The noise is 1.4826 MAD, and at least half of the deviation: the MAD of a quantised series
    is often zero.
    """
    residuals = merged(folded(before, low), folded(after, high))
    squares = 0.0
    for residual in residuals:
        squares += residual * residual
    deviation = math.sqrt(squares / residuals.size)
    return max(median(residuals) / MAD_OF_GAUSS, 0.5 * deviation), deviation


@kernel
def folded(ordered: Floats, level: float) -> Floats:
    """Return the sorted distances of sorted values from a level, in linear time."""
    out = np.empty(ordered.size)
    low, high = 0, ordered.size - 1
    for k in range(ordered.size - 1, -1, -1):
        below, above = abs(level - ordered[low]), abs(ordered[high] - level)
        if below > above:
            out[k] = below
            low += 1
        else:
            out[k] = above
            high -= 1
    return out


@kernel
def merged(a: Floats, b: Floats) -> Floats:
    """Return two sorted arrays as one."""
    out = np.empty(a.size + b.size)
    i = j = 0
    for k in range(out.size):
        if j == b.size or (i < a.size and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
    return out


@kernel
def usual_move(values: Floats) -> float:
    """Return the noise estimated from the moves between neighbouring values, 0 for one value."""
    if values.size < 2:
        return 0.0
    moves = np.abs(values[1:] - values[:-1])
    moves.sort()
    return median(moves) / (MAD_OF_GAUSS * math.sqrt(2.0))


@kernel
def lag1(values: Floats, level: float) -> float:
    """Return the lag-1 correlation around a level, 0 for a constant."""
    products = squares = 0.0
    for i in range(values.size):
        squares += (values[i] - level) ** 2
        if i:
            products += (values[i] - level) * (values[i - 1] - level)
    return products / squares if squares > ROUNDING**2 * values.size else 0.0


@kernel
def bimodality(ordered: Floats) -> float:
    """Return the share of variance that the best split of sorted values into two parts explains.

    Each part has at least a tenth of the values and at least two. The result is 0 for fewer than
    four values and for constants.
    """
    size = ordered.size
    mean = ordered.mean()
    squares = 0.0
    for value in ordered:
        squares += (value - mean) ** 2
    if size < 4 or squares <= ROUNDING**2 * size:
        return 0.0
    least = max(2, size // 10)
    best = total = 0.0
    for k in range(1, size - least + 1):
        total += ordered[k - 1] - mean
        if k >= least:
            best = max(best, total * total * size / (k * (size - k)))
    return min(1.0, best / squares)


@kernel
def log_ratio(part: float, unit: float) -> float:
    """Return log(1 + |part| / unit) with the sign of the part."""
    ratio = abs(part) / unit
    if ratio == math.inf:  # after values that are all zero, the unit may be almost zero
        return math.copysign(math.log(abs(part)) - math.log(unit), part)
    return math.copysign(math.log1p(ratio), part)
