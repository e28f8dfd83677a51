"""The Hurst exponent of each side: d + 1/2 of a fractionally integrated process.

d maximises the approximate likelihood of ARFIMA(0, d, 0) (Haslett and Raftery 1989) on [0, 1/2],
found by Brent's method with the authors' own tolerance: where the search stops is part of the
definition. A constant side has no such d; its exponent is fixed at 0.5.
"""

import numpy as np

from barograph.compiled import kernel
from barograph.features.families import Family
from barograph.features.likelihood import Sample, likelihood, sample_for, take
from barograph.series import Floats, Ints

NAMES = ("pre_hurst", "after_hurst")
CONSTANT = 0.5

_GOLDEN = 0.38196601125011
_TOLERANCE = 2.0**-13
_ROOT_EPSILON = 2.0**-26
_MOST_STEPS = 100


def rows(
    values: Floats, starts: Ints, splits: Ints, ends: Ints, context: Floats, out: Floats
) -> None:
    """Fill one row of `out` per candidate; see `families`."""
    del context
    hurst_rows(values, starts, splits, ends, out)


@kernel
def hurst_rows(values: Floats, starts: Ints, splits: Ints, ends: Ints, out: Floats) -> None:
    """Fill the exponents of both sides of every candidate."""
    size = 4
    for i in range(out.shape[0]):
        size = max(size, splits[i] - starts[i], ends[i] - splits[i])
    sample = sample_for(size)
    for i in range(out.shape[0]):
        out[i, 0] = hurst(values[starts[i] : splits[i]], sample)
        out[i, 1] = hurst(values[splits[i] : ends[i]], sample)


@kernel
def hurst(x: Floats, sample: Sample) -> float:
    """Return the exponent of one side; one or two values are repeated to four."""
    n = take(x, sample)
    return CONSTANT if n == 0 else 0.5 + most_likely(n, sample)


@kernel
def most_likely(n: int, sample: Sample) -> float:
    """Return the d that Brent's minimiser stops at."""
    a, b = 0.0, 0.5
    v = w = x = _GOLDEN * 0.5
    fv = fw = fx = likelihood(x, n, sample)
    step = before = 0.0
    for _ in range(_MOST_STEPS):
        middle = 0.5 * (a + b)
        least = _ROOT_EPSILON * (abs(x) + 1.0) + _TOLERANCE / 3.0
        if abs(x - middle) + 0.5 * (b - a) <= 2.0 * least:
            break
        step, before = _step(a, b, v, w, x, fv, fw, fx, step, before, least)
        u = x + (step if abs(step) >= least else np.copysign(least, step))
        fu = likelihood(u, n, sample)
        if fu <= fx:
            a, b = (a, x) if u < x else (x, b)
            v, w, x = w, x, u
            fv, fw, fx = fw, fx, fu
            continue
        a, b = (u, b) if u < x else (a, u)
        if fu <= fw or w == x:
            v, w = w, u
            fv, fw = fw, fu
        elif fu <= fv or v in (x, w):
            v, fv = u, fu
    return x


@kernel
def _step(
    a: float, b: float, v: float, w: float, x: float,
    fv: float, fw: float, fx: float, step: float, before: float, least: float,
) -> tuple[float, float]:  # fmt: skip
    """Return the next step and the one it is measured by: parabolic, or a golden section."""
    p = q = 0.0
    if abs(before) > least:
        r = (x - w) * (fx - fv)
        q = (x - v) * (fx - fw)
        p = (x - v) * q - (x - w) * r
        q = 2.0 * (q - r)
        p, q = (-p, q) if q > 0.0 else (p, -q)
        if abs(p) < abs(0.5 * q * before) and q * (a - x) < p < q * (b - x):
            parabolic = p / q
            u = x + parabolic
            if u - a < 2.0 * least or b - u < 2.0 * least:
                parabolic = least if x < 0.5 * (a + b) else -least
            return parabolic, step
    far = (b - x) if x < 0.5 * (a + b) else (a - x)
    return _GOLDEN * far, far


FAMILY = Family(NAMES, rows)
