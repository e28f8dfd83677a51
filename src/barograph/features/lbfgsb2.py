"""A step of L-BFGS-B, BFGS with limited memory and bounds, in the unit square (Byrd et al. 1995).

In two dimensions the compact representation of the Hessian is a plain 2 x 2 matrix. The step goes
to the Cauchy point, and from there to the minimum over the free coordinates, up to the first bound.
"""

import numpy as np

from barograph.results.series import Floats
from barograph.runtime.compiled import kernel

MEMORY = 5  # curvature pairs
MACHINE = 2.0**-52


@kernel
def projected_gradient(x: Floats, g: Floats) -> float:
    """Return the largest component of the gradient projected on the unit square."""
    largest = 0.0
    for i in range(2):
        step = max(x[i] - 1.0, g[i]) if g[i] < 0.0 else min(x[i], g[i])
        largest = max(largest, abs(step))
    return largest


@kernel
def remembered_hessian(memory: Floats, pairs: int, scale: float) -> tuple[float, float, float]:
    """Return B as (b00, b01, b11): the scaled identity, updated by each pair in turn."""
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
def cauchy_point(
    x: Floats, g: Floats, hessian: tuple[float, float, float], target: Floats
) -> tuple[bool, bool]:
    """Fill `target` with the first minimum of the quadratic along the projected steepest descent.

    Returns:
        For each coordinate, whether it is free: it has not reached a bound.
    """
    b00, b01, b11 = hessian
    t0, t1 = time_to_bound(x[0], g[0]), time_to_bound(x[1], g[1])
    d0 = -g[0] if t0 > 0.0 else 0.0
    d1 = -g[1] if t1 > 0.0 else 0.0
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
    target[0], target[1] = x[0] + z0, x[1] + z1
    return d0 != 0.0, d1 != 0.0


@kernel
def time_to_bound(x: float, g: float) -> float:
    """Return the distance along -g to the bound of this coordinate."""
    if g == 0.0:
        return 0.0
    return (x - 1.0) / g if g < 0.0 else x / g


@kernel
def subspace_step(
    x: Floats,
    g: Floats,
    hessian: tuple[float, float, float],
    free: tuple[bool, bool],
    target: Floats,
) -> None:
    """Move from the Cauchy point to the minimum over the free coordinates, or to a bound."""
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
    room0 = time_to_bound(target[0], -d0) if d0 != 0.0 else np.inf
    room1 = time_to_bound(target[1], -d1) if d1 != 0.0 else np.inf
    share = min(1.0, room0, room1)
    target[0] += share * d0
    target[1] += share * d1
    if share < 1.0:
        if room0 <= room1:
            target[0] = 1.0 if d0 > 0.0 else 0.0
        else:
            target[1] = 1.0 if d1 > 0.0 else 0.0


@kernel
def longest_step(x: Floats, target: Floats) -> float:
    """Return the multiple of the step to the target that reaches the first bound."""
    return min(room(x[0], target[0] - x[0]), room(x[1], target[1] - x[1]), 1e10)


@kernel
def room(x: float, d: float) -> float:
    """Return the multiple of `d` at which this coordinate reaches its bound."""
    if d == 0.0:
        return np.inf
    return (1.0 - x) / d if d > 0.0 else -x / d


@kernel
def remember(
    memory: Floats, pairs: int, scale: float, x: Floats, g: Floats, new_x: Floats, new_g: Floats
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
