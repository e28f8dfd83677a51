"""The mean rounded once: sums in twice the precision (Dekker, Knuth)."""

from barograph.compiled import kernel
from barograph.series import Floats

_SPLITTER = 134217729.0  # 2^27 + 1


@kernel
def mean_exactly(x: Floats) -> float:
    """Return the mean of a side, correctly rounded but for ties of the sum's own last bits."""
    high, low = 0.0, 0.0
    for value in x:
        total = high + value
        rest = total - high
        low += (high - (total - rest)) + (value - rest)
        high = total
    quotient = (high + low) / x.size
    product, error = _product(quotient, float(x.size))
    return quotient + (((high - product) - error) + low) / x.size


@kernel
def _product(a: float, b: float) -> tuple[float, float]:
    """Return a * b and its rounding error."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


@kernel
def _halves(a: float) -> tuple[float, float]:
    big = _SPLITTER * a
    high = big - (big - a)
    return high, a - high
