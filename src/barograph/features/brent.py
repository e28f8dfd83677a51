"""Brent's minimiser without derivatives, one step at a time.

The point where it stops is part of the definition of the Hurst exponent, so it follows the
classical `fmin` (Brent 1973) with the authors' tolerance: parabolas through the three best points,
and golden sections where a parabola fails. The caller evaluates the function.
"""

from typing import NamedTuple

import numpy as np

from barograph.compiled import kernel

LOW, HIGH = 0.0, 0.5
GOLDEN = 0.38196601125011
FIRST = LOW + GOLDEN * (HIGH - LOW)
MOST_STEPS = 100

_TOLERANCE = 2.0**-13
_ROOT_EPSILON = 2.0**-26


class BrentState(NamedTuple):
    """The state of the minimiser: the bracket and the three best points so far."""

    low: float
    high: float
    best: float
    second: float
    third: float
    at_best: float
    at_second: float
    at_third: float
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
def is_found(s: BrentState) -> bool:
    """Return whether the bracket is narrow enough."""
    middle = 0.5 * (s.low + s.high)
    return abs(s.best - middle) + 0.5 * (s.high - s.low) <= 2.0 * _tolerance(s)


@kernel
def next_step(s: BrentState) -> tuple[float, float]:
    """Return the next step from the best point, and the value of `previous` that goes with it."""
    tolerance = _tolerance(s)
    left = s.best < 0.5 * (s.low + s.high)
    if abs(s.previous) > tolerance:
        r = (s.best - s.second) * (s.at_best - s.at_third)
        q = (s.best - s.third) * (s.at_best - s.at_second)
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
    if value <= s.at_best:
        low, high = (low, s.best) if u < s.best else (s.best, high)
        return BrentState(
            low, high, u, s.best, s.second, value, s.at_best, s.at_second, step, previous
        )
    low, high = (u, high) if u < s.best else (low, u)
    second, third = s.second, s.third
    at_second, at_third = s.at_second, s.at_third
    if value <= at_second or second == s.best:
        second, third = u, second
        at_second, at_third = value, at_second
    elif value <= at_third or third in (s.best, second):
        third, at_third = u, value
    return BrentState(
        low, high, s.best, second, third, s.at_best, at_second, at_third, step, previous
    )
