"""Drifts: slow changes of the level without a step, fitted as a ramp between two flat stretches.

A series is divided into blocks of 5, 10, 20, ... results, and each block becomes its median. For
each size of blocks, ramps of 6 to 17 blocks are fitted by least squares, all in a few calls of
NumPy. A ramp is a drift if it is large and clear, if up to four levels do not fit its blocks
better, and if no step within it is a large part of it. So a step, a staircase and a few spikes are
none.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from barograph.results.repeats import MAD_TO_SD
from barograph.results.series import Floats, Ints

SMALLEST = 5  # results of the smallest block: fewer have no median that two spikes do not move
FEWEST = 9  # blocks of a series or of a ramp with what lies beside it
# Blocks of a ramp, and blocks on either side that are fitted with it; none, as between two steps.
LENGTHS = (*((k, k // 2) for k in (6, 8, 10, 12)), *((k, 0) for k in (9, 11, 13, 15, 17)))
LEAST_SHARE = 0.03  # of the level: a smaller ramp is no drift
LEAST_NOISE = 4.0  # standard deviations of the noise: a smaller ramp is no drift
LEAST_T = 60.0**0.5  # Student's t of the rise, corrected for autocorrelation
MOST_LEVELS = 4  # of a staircase that is compared with a ramp
BETTER_BY = 4.0  # of BIC, by which a ramp must fit better than a staircase
LARGEST_STEP = 0.25  # of the ramp, besides what noise does
STEP_NOISE = 1.5  # standard deviations by which noise enlarges a step between medians of 5
MOST_TRIED = 30  # ramps of a series, the clearest first
FINER = 5  # the begin and the end are found to this part of a block


class Drift(NamedTuple):
    """A ramp from one level to another: the results begin, ..., end - 1."""

    begin: int
    end: int
    before: float
    after: float


class _Ramps(NamedTuple):
    """All ramps of a series, in blocks of all sizes, which follow each other in one array.

    A ramp has the blocks begin to end - 1, and is fitted to the blocks first to last - 1. It rises
    from 0 to 1; `total` is its sum over the fit, and `squares` that of its squared distances from
    its mean.

    Attributes:
        sizes: Results of a block.
        edges: Where the blocks of each size begin, and where the last ones end.
    """

    sizes: list[int]
    edges: Ints
    begin: Ints
    end: Ints
    first: Ints
    last: Ints
    total: Floats
    squares: Floats


class _Fit(NamedTuple):
    """A ramp that was fitted to the blocks first to last - 1 of a size, and its Student's t."""

    size: int
    begin: int
    end: int
    first: int
    last: int
    before: float
    rise: float
    t: float

    def span(self, values: Floats) -> tuple[int, int]:
        """Return the first result of the fit, and the one after its last."""
        offset = values.size % self.size
        return offset + self.first * self.size, offset + self.last * self.size

    def line(self, parts: int = 1) -> Floats:
        """Return the fitted value of each of some equal parts of the blocks."""
        count, *places = (
            parts * (block - self.first) for block in (self.last, self.begin, self.end)
        )
        return self.before + self.rise * _ramp(np.arange(count), *places)


def find_drifts(values: Floats) -> list[Drift]:
    """Return the drifts of a series in order; they do not overlap.

    Args:
        values: A series of finite values, at most about 1 in size.

    Example:
        >>> ramp = np.clip((np.arange(250) - 80) / 100, 0.0, 1.0)
        >>> noise = np.random.default_rng(0).normal(0.0, 0.01, 250)
        >>> [drift] = find_drifts(1.0 + 0.2 * ramp + noise)
        >>> abs(drift.begin - 80) < 10, abs(drift.end - 180) < 10
        (True, True)
    """
    if values.size < FEWEST * SMALLEST:
        return []
    blocks = _blocks(values, SMALLEST)
    extent = float(blocks.max() - blocks.min())
    if extent < LEAST_SHARE * float(np.abs(blocks).max()) or not extent:
        return []
    noise = MAD_TO_SD * float(np.median(np.abs(np.diff(values)))) / 2.0**0.5
    if extent < 3.0 * noise:
        return []
    found: list[Drift] = []
    for fit in _fits(values, noise):
        offset = values.size % fit.size
        begin, end = (offset + block * fit.size for block in (fit.begin, fit.end))
        is_free = all(end <= other.begin or other.end <= begin for other in found)
        if is_free and _is_drift(values, fit):
            found.append(_finer(values, fit))
    return sorted(found)


def _blocks(values: Floats, size: int) -> Floats:
    """Return the medians of blocks of results; the last block ends with the series."""
    count = values.size // size
    ordered = np.sort(values[values.size - count * size :].reshape(count, size), axis=1)
    middle: Floats = 0.5 * (ordered[:, (size - 1) // 2] + ordered[:, size // 2])
    return middle


def running_medians(values: Floats, width: int) -> Floats:
    """Return the median of each window of some results; the upper of two middle ones."""
    medians: Floats = np.sort(sliding_window_view(values, width), axis=1)[:, width // 2]
    return medians


def autocorrelation(rest: Floats, squares: float, more: float = 0.0) -> float:
    """Return the correlation of neighbouring residuals, from 0 to 0.9.

    Args:
        rest: The residuals.
        squares: The sum of their squares.
        more: What is added: in a few residuals, a fit makes the correlation smaller.
    """
    return min(max(float(rest[1:] @ rest[:-1]) / squares + more, 0.0), 0.9)


def _steps(values: Floats, width: int) -> Floats:
    """Return the distance between the medians before and from each result on, 0 near the ends."""
    medians = running_medians(values, width)
    steps = np.zeros(values.size)
    steps[width : values.size - width + 1] = np.abs(medians[width:] - medians[:-width])
    return steps


@lru_cache(maxsize=32)
def _ramps(count: int) -> _Ramps:
    """Return all ramps of a series of some results."""
    sizes = [SMALLEST]
    while count >= 2 * FEWEST * sizes[-1]:
        sizes.append(2 * sizes[-1])
    edges = np.cumsum([0, *(count // size for size in sizes)])
    parts = []
    for start, stop in pairwise(edges.tolist()):
        for length, beside in LENGTHS:
            begin = np.arange(start, stop - length + 1)
            first = np.maximum(begin - beside, start)
            last = np.minimum(begin + length + beside, stop)
            parts.append(np.array([begin, begin + length, first, last])[:, last - first >= FEWEST])
    begin, end, first, last = np.concatenate(parts, axis=1)
    length, above = end - begin, last - end
    total = 0.5 * length + above
    squares = length / 3.0 - 1.0 / (12.0 * length) + above - total**2 / (last - first)
    return _Ramps(sizes, edges, begin, end, first, last, total, squares)


def _fits(values: Floats, noise: float) -> list[_Fit]:
    """Return the clearest ramps of a series that are large and hold no large step."""
    sizes, edges, begin, end, first, last, ramp, squares = _ramps(values.size)
    blocks = np.concatenate([_blocks(values, size) for size in sizes])
    middle = float(np.median(blocks))
    level = blocks - middle
    sums, squared = _sums(level), _sums(level * level)
    places = _sums(level * (np.arange(level.size) + 0.5))
    total, count = sums[last] - sums[first], last - first
    rising = places[end] - places[begin] - begin * (sums[end] - sums[begin])
    product = rising / (end - begin) + sums[last] - sums[end] - ramp * total / count
    rise, around = product / squares, squared[last] - squared[first] - total * total / count
    rest = np.maximum(around - rise * product, 1e-12 * around)
    clear = rise * product * (count - 2) > LEAST_T**2 * rest
    before = middle + (total - rise * ramp) / count
    extent = np.maximum(np.abs(before), np.abs(before + rise))
    chosen = np.flatnonzero(clear & (np.abs(rise) >= LEAST_SHARE * extent))
    if not chosen.size:
        return []
    steps = _steps(values, SMALLEST)
    shown = [steps[values.size % size :].reshape(-1, size).max(axis=1) for size in sizes]
    pairs = np.stack([begin[chosen], end[chosen]], axis=1).ravel()
    largest = np.maximum.reduceat(np.concatenate([*shown, [0.0]]), pairs)[::2]
    allowed = 1.5 * LARGEST_STEP * np.abs(rise[chosen]) + 2.0 * noise
    chosen = chosen[largest <= allowed]
    clearness = np.sqrt(rise * product * (count - 2) / np.maximum(rest, 1e-300))[chosen]
    fits = []
    for place in np.argsort(-clearness, kind="stable")[:MOST_TRIED].tolist():
        k = chosen[place]
        scale = int(np.searchsorted(edges, begin[k], "right")) - 1
        a, b, c, d = (int(block[k] - edges[scale]) for block in (begin, end, first, last))
        numbers = float(before[k]), float(rise[k]), float(clearness[place])
        fits.append(_Fit(sizes[scale], a, b, c, d, *numbers))
    return fits


def _sums(values: Floats) -> Floats:
    """Return the sum of the first k values for each k."""
    sums = np.zeros(values.size + 1)
    np.cumsum(values, out=sums[1:])
    return sums


def _ramp(places: Ints, begin: Any, end: Any) -> Floats:
    """Return a ramp that rises from 0 to 1 between two places, at the middles of parts."""
    ramp: Floats = np.clip((places + 0.5 - begin) / (end - begin), 0.0, 1.0)
    return ramp


def _is_drift(values: Floats, fit: _Fit) -> bool:
    """Return whether a ramp is clear in spite of autocorrelation, and no staircase."""
    blocks = _blocks(values, fit.size)[fit.first : fit.last]
    count, rise = blocks.size, abs(fit.rise)
    rest = blocks - fit.line()
    squares = max(float(rest @ rest), 1e-300)
    lag = autocorrelation(rest, squares, 1.0 / count)  # which the fit makes smaller
    if fit.t * ((1.0 - lag) / (1.0 + lag)) ** 0.5 < LEAST_T:
        return False
    # A ramp has two levels and two places.
    ramp = count * np.log(squares / count) + 4 * np.log(count)
    stairs = np.maximum(_staircases(blocks - np.median(blocks)), 1e-300)
    parameters = 2 * np.arange(2, MOST_LEVELS + 1) - 1
    if ramp + BETTER_BY > (count * np.log(stairs / count) + parameters * np.log(count)).min():
        return False
    first, last = fit.span(values)
    part = values[first:last]
    noise = MAD_TO_SD * float(np.median(np.abs(part - fit.line(fit.size))))
    width = max(SMALLEST, fit.size // 2)
    step = float(_steps(part, width).max())
    allowed = STEP_NOISE * noise * (SMALLEST / width) ** 0.5
    return rise >= LEAST_NOISE * noise and step <= LARGEST_STEP * rise + allowed


def _staircases(blocks: Floats) -> Floats:
    """Return the squared errors of the best fits of 2, 3, ... levels, by dynamic programming."""
    sums, squared, places = _sums(blocks), _sums(blocks * blocks), np.arange(blocks.size + 1)
    size = places - places[:, None]
    means = (sums - sums[:, None]) ** 2 / np.maximum(size, 1)
    cost = np.where(size > 0, np.maximum(squared - squared[:, None] - means, 0.0), np.inf)
    best, errors = cost[0], []
    for _ in range(MOST_LEVELS - 1):
        best = (best[:, None] + cost).min(axis=0)
        errors.append(best[-1])
    return np.array(errors)


def _finer(values: Floats, fit: _Fit) -> Drift:
    """Return the drift of a ramp, with begin and end to a fifth of a block."""
    start, stop = fit.span(values)
    size = fit.size // FINER
    level, line = _blocks(values[start:stop], size), fit.line(FINER)
    noise = 4.0 * MAD_TO_SD * float(np.median(np.abs(level - line)))
    level = np.clip(level, line - noise, line + noise)  # spikes do not count
    near, places = np.arange(-FINER, FINER + 1), np.arange(level.size)
    # A ramp at an end of the fit stays there.
    begins = FINER * (fit.begin - fit.first) + near * (fit.begin > fit.first)
    ends = FINER * (fit.end - fit.first) + near * (fit.end < fit.last)
    begin, end = (grid.ravel() for grid in np.meshgrid(begins, ends))
    ramps = _ramp(places, begin[:, None], end[:, None])
    middles = ramps.mean(axis=1)
    ramps -= middles[:, None]
    products = ramps @ level
    rises = products / (ramps * ramps).sum(axis=1)
    k = int(np.argmax(rises * products))
    before = float(level.mean() - rises[k] * middles[k])
    first, last = start + size * int(begin[k]), start + size * int(end[k])
    # Two blocks are too few to tell a new level from a drift that goes on.
    last = values.size if last >= values.size - 2 * fit.size else last
    return Drift(first, last, before, before + float(rises[k]))
