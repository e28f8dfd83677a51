"""The likelihood of a growing side: its sums kept at twenty fixed values of d.

One more value adds one term to each sum, so growing costs the same at any length. As functions of
d the sums are analytic far beyond [0, 1/2] (the nearest pole is d = 1), so that the polynomial
through twenty Chebyshev nodes meets them to rounding; the minimiser then runs on the polynomials.
Level and scale do not matter to the likelihood: distances to the first value stand for values.
"""

import math

import numpy as np

from barograph.compiled import fused_kernel, kernel
from barograph.features import brent
from barograph.features.likelihood import LOG_TERM, TERMS
from barograph.series import Floats

COUNT = 20

# Rows of the state, one column per node: the node, its barycentric weight, sums as in
# `likelihood`, the determinant without its pole at 1/2, the last weight a and variance.
D, WEIGHT, XX, XA, AA, DETERMINANT, LAST_A, VARIANCE = range(8)
# Pages of the tables: g, pi backwards, g_i x_i.
G, PI, H = range(3)


def new_state() -> tuple[Floats, Floats]:
    """Return state and tables for an empty side."""
    state = np.zeros((8, COUNT))
    angle = (2.0 * np.arange(COUNT) + 1.0) * (np.pi / (2.0 * COUNT))
    state[D] = 0.25 + 0.25 * np.cos(angle)
    state[WEIGHT] = np.sin(angle) * (-1.0) ** np.arange(COUNT)
    tables = np.zeros((3, COUNT, TERMS + 1))
    i = np.arange(1, TERMS + 1)
    d = state[D][:, None]
    tables[G] = np.cumprod(np.hstack((np.ones_like(d), (i - d) / i)), axis=1)
    tables[PI, :, :TERMS] = (d * tables[G, :, :TERMS] / i)[:, ::-1]
    clear(state)
    return state, tables


def clear(state: Floats) -> None:
    """Forget all values."""
    state[XX : AA + 1] = 0.0
    state[DETERMINANT : LAST_A + 1] = 1.0


@fused_kernel
def add(distances: Floats, t: int, early: float, state: Floats, tables: Floats) -> None:
    """Add the value at t, given as a distance to the first.

    `early` is the mean distance of what lies more than 100 before it, or NaN. Beyond the hundredth
    value the predictor and its variance are those of `likelihood`.
    """
    for node in range(COUNT):
        if t < TERMS:
            _exactly(distances, t, node, state, tables)
        else:
            _approximately(distances, t, early, node, state, tables)


@fused_kernel
def _exactly(distances: Floats, t: int, node: int, state: Floats, tables: Floats) -> None:
    g, pi, h = tables[G, node], tables[PI, node], tables[H, node]
    d = state[D, node]
    value = distances[t]
    h[t] = g[t] * value
    if t == 0:
        variance = math.gamma(1.0 - 2.0 * d) / math.gamma(1.0 - d) ** 2
        state[DETERMINANT, node] = math.gamma(2.0 - 2.0 * d) / math.gamma(1.0 - d) ** 2
        a = 1.0
        rest = value
    else:
        away = 1.0 / (t - d)
        variance = state[VARIANCE, node] * (t - 2.0 * d) * t * away * away
        state[DETERMINANT, node] *= variance
        a = state[LAST_A, node] * (t - 2.0 * d) * away
        total = 0.0
        for i in range(t):
            total += pi[TERMS - t + i] * h[i]
        rest = value - total / g[t]
    state[VARIANCE, node] = variance
    state[LAST_A, node] = a
    state[XX, node] += rest * rest / variance
    state[XA, node] += rest * a / variance
    state[AA, node] += a * a / variance


@fused_kernel
def _approximately(
    distances: Floats, t: int, early: float, node: int, state: Floats, tables: Floats
) -> None:
    g, pi = tables[G, node], tables[PI, node]
    total = 0.0
    for j in range(TERMS):
        total += pi[j] * distances[t - TERMS + j]
    a = g[TERMS]
    if not np.isnan(early):
        share = g[TERMS - 1] * (1.0 - (TERMS / (t + 1.0)) ** state[D, node])
        total += share * early
        a -= share
    rest = distances[t] - total
    state[XX, node] += rest * rest
    state[XA, node] += rest * a
    state[AA, node] += a * a


@fused_kernel
def likelihood_between(d: float, n: int, state: Floats) -> float:
    """Return minus the log likelihood of any d from the sums at the nodes."""
    total = xx = xa = aa = determinant = 0.0
    for node in range(COUNT):
        share = state[WEIGHT, node] / (d - state[D, node])
        total += share
        xx += share * state[XX, node]
        xa += share * state[XA, node]
        aa += share * state[AA, node]
        determinant += share * state[DETERMINANT, node]
    spread = (xx - xa * xa / aa) / (total * n)
    log_determinant = math.log(determinant / total / (1.0 - 2.0 * d))
    return 0.5 * (n * (math.log(spread) + LOG_TERM) + log_determinant)


@kernel
def hurst_between(n: int, state: Floats) -> float:
    """Return the exponent of the side that the sums belong to."""
    search = brent.begin(likelihood_between(brent.FIRST, n, state))
    for _ in range(brent.MOST_STEPS):
        if brent.is_found(search):
            break
        step, before = brent.next_step(search)
        d = brent.place(search, step)
        search = brent.narrowed(search, d, likelihood_between(d, n, state), step, before)
    return 0.5 + search.best
