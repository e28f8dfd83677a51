"""Bring values into a range where squares neither overflow nor vanish, without rounding."""

import numpy as np

from barograph.series import Floats


def power_of_two(values: Floats) -> float:
    """Return the power of two just above the largest magnitude, 1 where all values are 0.

    Dividing by it changes exponents only, so a detector decides the same at every scale.
    """
    largest = float(np.abs(values).max(initial=0.0))
    exponent = int(np.frexp(largest)[1]) if largest else 0
    # 2 ** 1024 is no double; one step less leaves magnitudes below 2.
    return float(np.ldexp(1.0, min(max(exponent, -1021), 1023)))
