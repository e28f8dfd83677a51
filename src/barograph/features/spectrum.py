"""The spectrum of an autoregressive fit, and its entropy."""

import math

import numpy as np

from barograph.compiled import fused_kernel, kernel
from barograph.series import Floats


@fused_kernel
def turn(cosine: Floats, sine: Floats) -> None:
    """Fill cos and sin of pi j / (size - 1), doubling the filled part in every pass."""
    size = cosine.size
    cosine[0], sine[0] = 1.0, 0.0
    done = 1
    while done < size:
        angle = math.pi * done / (size - 1)
        c, s = math.cos(angle), math.sin(angle)
        for j in range(min(done, size - done)):
            cosine[done + j] = cosine[j] * c - sine[j] * s
            sine[done + j] = sine[j] * c + cosine[j] * s
        done *= 2


@fused_kernel
def power(
    a: Floats, order: int, cosine: Floats, sine: Floats, real: Floats, imaginary: Floats
) -> None:
    """Fill `real` with 1 / |1 - sum a_k z^k|^2 at all frequencies together (Horner)."""
    for j in range(cosine.size):
        real[j] = imaginary[j] = 0.0
    for k in range(order, 0, -1):
        for j in range(cosine.size):
            x = real[j] + a[k]
            y = imaginary[j]
            real[j] = x * cosine[j] - y * sine[j]
            imaginary[j] = x * sine[j] + y * cosine[j]
    for j in range(cosine.size):
        real[j] = 1.0 / ((1.0 - real[j]) ** 2 + imaginary[j] ** 2)


@kernel
def power_directly(a: Floats, order: int, density: Floats) -> None:
    """Fill the same with one cosine and one sine per frequency and coefficient.

    Where a pole is on the unit circle up to rounding, a recurrence would move the peak.
    """
    for j in range(density.size):
        frequency = 0.5 / (density.size - 1) * j
        c = s = 0.0
        for k in range(1, order + 1):
            angle = 2.0 * math.pi * frequency * k
            c += math.cos(angle) * a[k]
            s += math.sin(angle) * a[k]
        density[j] = 1.0 / ((1.0 - c) ** 2 + s * s)


@kernel
def entropy_of(density: Floats, n: int) -> float:
    """Return the entropy of the two-sided density in units of ln n, at most 1.

    One part in a thousand of a flat density is mixed in, as in the authors' code.
    """
    total = 0.0
    for j in range(1, density.size):
        total += density[j]
    total = 2.0 * total + density[0]
    size = 2 * density.size - 1
    entropy = 0.0
    for j in range(density.size):
        g = 0.999 * (density[j] / total) + 0.001 / size
        entropy -= (1.0 if j == 0 else 2.0) * g * np.log(g)
    entropy /= np.log(n)
    return 1.0 if np.isnan(entropy) else min(1.0, entropy)
