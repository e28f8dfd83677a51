"""Sums in the order that NumPy takes, so that a compiled mean is NumPy's to the last bit.

A detector that must agree with another program about a tie has to round as that program does.
NumPy adds pairwise: blocks of up to 128 numbers in eight interleaved partial sums, longer
stretches by halves whose length is a multiple of eight.
"""

import numpy as np

from barograph.compiled import kernel
from barograph.series import Floats

BLOCK = 128
# Two entries for each halving of the longest stretch that memory can hold.
DEPTH = 128


@kernel
def pairwise_sum(values: Floats, start: int, end: int) -> float:
    """Add values[start:end] as `numpy.sum` does."""
    size = end - start
    if size < 8:
        total = 0.0
        for i in range(start, end):
            total += values[i]
        return total
    if size <= BLOCK:
        return _interleaved(values, start, end)
    return _by_halves(values, start, end)


@kernel
def _by_halves(values: Floats, start: int, end: int) -> float:
    """Add a stretch longer than a block; a compiled function that calls itself cannot be cached."""
    starts, ends, sums = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64), np.empty(DEPTH)
    starts[0], ends[0], todo, done = start, end, 1, 0
    while todo:
        todo -= 1
        a, b = starts[todo], ends[todo]
        if a < 0:
            done -= 1
            sums[done - 1] += sums[done]
        elif b - a <= BLOCK:
            sums[done] = _interleaved(values, a, b)
            done += 1
        else:
            half = (b - a) // 2
            half -= half % 8
            # Last in, first out: the left half, the right half, then their sum (marked by -1).
            starts[todo] = -1
            starts[todo + 1], ends[todo + 1] = a + half, b
            starts[todo + 2], ends[todo + 2] = a, a + half
            todo += 3
    return float(sums[0])


@kernel
def _interleaved(values: Floats, start: int, end: int) -> float:
    a, b, c, d = values[start], values[start + 1], values[start + 2], values[start + 3]
    e, f, g, h = values[start + 4], values[start + 5], values[start + 6], values[start + 7]
    i = start + 8
    while i + 8 <= end:
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
        i += 8
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    while i < end:
        total += values[i]
        i += 1
    return float(total)


@kernel
def mean_and_squares(
    values: Floats, start: int, end: int, pivot: float, scratch: Floats
) -> tuple[float, float]:
    """Return the mean of values[start:end] and the sum of squared deviations from it.

    The values are taken relative to `pivot`: at one of the values, a constant stretch has the
    deviation 0 exactly, whatever its level; at 0, the result is NumPy's to the bit.
    """
    size = end - start
    for i in range(size):
        scratch[i] = values[start + i] - pivot
    mean = pairwise_sum(scratch, 0, size) / size
    for i in range(size):
        scratch[i] = (scratch[i] - mean) ** 2
    return pivot + mean, pairwise_sum(scratch, 0, size)
