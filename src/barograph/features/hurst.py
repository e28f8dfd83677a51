"""The Hurst exponent of each side: d + 1/2 of a fractionally integrated process.

d maximises the approximate likelihood of ARFIMA(0, d, 0) (Haslett and Raftery 1989) on [0, 1/2]. It
is found by Brent's minimiser without derivatives: parabolas through the three best points, and
golden sections where a parabola fails. The point where it stops is part of the definition, so it
follows the classical `fmin` (Brent 1973) with the authors' tolerance. The exponent of a constant
side is defined as 0.5.
"""

from typing import NamedTuple

import numpy as np

from barograph.features.families import Family
from barograph.features.likelihood import LikelihoodSample, likelihood, sample_for, take
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel

NAMES = ("pre_hurst", "after_hurst")
CONSTANT = 0.5
LOW, HIGH = 0.0, 0.5
GOLDEN = 0.38196601125011
FIRST = LOW + GOLDEN * (HIGH - LOW)
MOST_STEPS = 100

_TOLERANCE = 2.0**-13
_ROOT_EPSILON = 2.0**-26


@kernel
def rows(
    values: Floats,
    starts: Ints,
    splits: Ints,
    ends: Ints,
    context: Floats,  # noqa: ARG001 - only other families use it
    out: Floats,
) -> None:
    """Fill the exponents of both sides of every candidate; see `families`."""
    size = 4
    for i in range(out.shape[0]):
        size = max(size, splits[i] - starts[i], ends[i] - splits[i])
    sample = sample_for(size)
    for i in range(out.shape[0]):
        out[i, 0] = hurst(values[starts[i] : splits[i]], sample)
        out[i, 1] = hurst(values[splits[i] : ends[i]], sample)


@kernel
def hurst(x: Floats, sample: LikelihoodSample) -> float:
    """Return the exponent of one side; sides of one or two values are repeated to four."""
    n = take(x, sample)
    return CONSTANT if n == 0 else 0.5 + most_likely(n, sample)


@kernel
def most_likely(n: int, sample: LikelihoodSample) -> float:
    """Return the d that Brent's minimiser stops at."""
    search = begin(likelihood(FIRST, n, sample))
    for _ in range(MOST_STEPS):
        if is_narrow(search):
            break
        step, previous = next_step(search)
        d = next_point(search, step)
        search = narrowed(search, d, likelihood(d, n, sample), step, previous)
    return search.best


class BrentState(NamedTuple):
    """The state of the minimiser: the bracket and the three best points so far."""

    low: float
    high: float
    best: float
    second: float
    third: float
    best_value: float
    second_value: float
    third_value: float
    step: float  # the last step
    previous: float  # the step before it, or the interval that a golden section divides


@kernel
def begin(value: float) -> BrentState:
    """Return the state after the function was evaluated at FIRST."""
    return BrentState(LOW, HIGH, FIRST, FIRST, FIRST, value, value, value, 0.0, 0.0)


@kernel
def _tolerance(s: BrentState) -> float:
    return _ROOT_EPSILON * (abs(s.best) + 1.0) + _TOLERANCE / 3.0


@kernel
def is_narrow(s: BrentState) -> bool:
    """Return whether the bracket is narrow enough."""
    middle = 0.5 * (s.low + s.high)
    return abs(s.best - middle) + 0.5 * (s.high - s.low) <= 2.0 * _tolerance(s)


@kernel
def next_step(s: BrentState) -> tuple[float, float]:
    """Return the next step from the best point, and the value of `previous` that goes with it."""
    tolerance = _tolerance(s)
    left = s.best < 0.5 * (s.low + s.high)
    if abs(s.previous) > tolerance:
        r = (s.best - s.second) * (s.best_value - s.third_value)
        q = (s.best - s.third) * (s.best_value - s.second_value)
        p = (s.best - s.third) * q - (s.best - s.second) * r
        q = 2.0 * (q - r)
        p, q = (-p, q) if q > 0.0 else (p, -q)
        inside = q * (s.low - s.best) < p < q * (s.high - s.best)
        if abs(p) < abs(0.5 * q * s.previous) and inside:
            step = p / q
            u = s.best + step
            if u - s.low < 2.0 * tolerance or s.high - u < 2.0 * tolerance:
                step = tolerance if left else -tolerance
            return step, s.step
    interval = (s.high if left else s.low) - s.best
    return GOLDEN * interval, interval


@kernel
def next_point(s: BrentState, step: float) -> float:
    """Return the next point to evaluate, at least the tolerance away from the best point."""
    tolerance = _tolerance(s)
    return s.best + (step if abs(step) >= tolerance else np.copysign(tolerance, step))


@kernel
def narrowed(s: BrentState, u: float, value: float, step: float, previous: float) -> BrentState:
    """Return the state after the function was evaluated at `u`."""
    low, high = s.low, s.high
    if value <= s.best_value:
        low, high = (low, s.best) if u < s.best else (s.best, high)
        return BrentState(
            low, high, u, s.best, s.second, value, s.best_value, s.second_value, step, previous
        )
    low, high = (u, high) if u < s.best else (low, u)
    second, third = s.second, s.third
    second_value, third_value = s.second_value, s.third_value
    if value <= second_value or second == s.best:
        second, third = u, second
        second_value, third_value = value, second_value
    elif value <= third_value or third in (s.best, second):
        third, third_value = u, value
    return BrentState(
        low, high, s.best, second, third, s.best_value, second_value, third_value, step, previous
    )


FAMILY = Family(NAMES, rows)
