"""The differences of five features between Pre and After, and the distance that they add up to.

Leznik et al. 2022: section 2.1 and Table 1 (the deltas), section 2.2 and equation 1 (the distance,
"zoomed ranking"). After is "the possible change point itself and its subsequent measurement" (2.1):
two points, however many more follow. Mean and standard deviation are those of Pre and these two
points, min-max normalised together; Hurst exponent, alpha and beta are those of the raw values.
Sides of one or two values are repeated to four before Hurst and Holt: the published rows have the
alpha and beta of (a, b, a, b) and of (a, a, a, a).

Alpha and beta say how quickly level and trend follow the values: the estimates of the authors'
statistics package for exponential smoothing with additive errors and trend, damped or not. Nine or
more values are fitted in state-space form (`holt_ets`), fewer in smoothing form (`holt_winters`),
where beta applies to the trend alone and is often at its bound 1.
"""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from barograph.features import bauer, holt_ets
from barograph.features.families import Derived, Family, one_pair
from barograph.features.holt_ets import fit_ets
from barograph.features.holt_winters import fit_holt_winters
from barograph.features.hurst import hurst, sample_for
from barograph.features.sums import sums_of
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel

AFTER = 2  # points
FEATURES = ("mean", "sd", "hurst", "alpha", "beta")
NAMES = tuple(f"delta_{feature}" for feature in FEATURES)
SOURCES = tuple(f"leznik_{side}_{feature}" for side in ("pre", "after") for feature in FEATURES)
_LEVELS = np.array([0, 1, 5, 6])  # columns of means and deviations
_BAUER_LEVELS = np.array([0, 1, 8, 9])  # the same among the columns of `bauer`
_REPEATED = 4
SHORT = 8  # sides up to this length are fitted in smoothing form
SINGLE_VALUE = (0.2, 0.0)  # one value has no trend
# Squares, and in smoothing form squares of squares, must stay finite: larger values are divided by
# a power of two before the fit.
LARGE, LARGE_SHORT = 2.0**480, 2.0**200

# The authors' ranges: a normalised mean is in [0, 1], two normalised values have a standard
# deviation of at most 1 / sqrt(2), and the Hurst exponents cover the whole interval of their
# search.
PUBLISHED_RANGES: Mapping[str, float] = {
    "delta_mean": 1.0,
    "delta_sd": 0.7071067811865476,
    "delta_hurst": 0.499904545815897,
    "delta_alpha": 1.0,
    "delta_beta": 1.0,
}


def deltas(pre: npt.ArrayLike, after: npt.ArrayLike) -> dict[str, float]:
    """Return the absolute differences of the five features between both sides.

    Args:
        pre: The values before the candidate, at least one.
        after: The values from the candidate on, at least one. Only the first two count.

    Raises:
        ValueError: A side is empty, not one-dimensional, or holds something that is not a finite
            number; the message names the side, the index and the value.
    """
    numbers = one_pair(DELTAS, pre, after)
    return {name: numbers[name] for name in NAMES}


def distance(deltas: Mapping[str, float], ranges: Mapping[str, float] = PUBLISHED_RANGES) -> float:
    """Return the sum of the deltas, each divided by the range of its feature.

    Raises:
        ValueError: One of the five is missing, a delta is not finite, or a range is negative or
            not finite; a feature whose range is 0 adds nothing.
    """
    row = np.array([[_entry(deltas, name, "deltas") for name in NAMES]])
    return float(distances(row, ranges)[0])


def distances(rows: Floats, ranges: Mapping[str, float] = PUBLISHED_RANGES) -> Floats:
    """Return the distance of each row of the five deltas."""
    total = np.zeros(rows.shape[0])
    for column, name in enumerate(NAMES):
        width = _entry(ranges, name, "ranges")
        if width < 0.0:
            raise ValueError(f"ranges[{name!r}] is {width}; it must be 0 or more")
        # A feature that never varied in training does not distinguish anything.
        total += rows[:, column] / width if width > 0.0 else 0.0
    return total


def with_distance(sources: Floats) -> Floats:
    """Return the five deltas and the distance of each row of SOURCES."""
    pre, after = np.split(sources, 2, axis=1)
    rows = np.abs(after - pre)
    return np.column_stack([rows, distances(rows)])


def _entry(table: Mapping[str, float], name: str, what: str) -> float:
    if name not in table:
        raise ValueError(f"{what} has no {name!r}; it must have {', '.join(NAMES)}")
    if not np.isfinite(table[name]):
        raise ValueError(f"{what}[{name!r}] is {table[name]}; it must be finite")
    return float(table[name])


def rows(
    values: Floats, starts: Ints, splits: Ints, ends: Ints, context: Floats, out: Floats
) -> None:
    """Fill one row of `out` per candidate; see `families`.

    As in `bauer`, the kernel puts NaN first where both sides are constant to nearly all digits, or
    near the largest double.
    """
    last = np.minimum(ends, splits + AFTER)
    _fill_rows(values, starts, splits, last, out)
    odd = np.flatnonzero(np.isnan(out[:, 0]))
    if odd.size:
        levels = np.empty((odd.size, len(bauer.NAMES)))
        bauer.rows(values, starts[odd], splits[odd], last[odd], context, levels)
        out[odd[:, None], _LEVELS] = levels[:, _BAUER_LEVELS]


@kernel
def _fill_rows(values: Floats, starts: Ints, splits: Ints, ends: Ints, out: Floats) -> None:
    """Fill one row per candidate; candidates that share a Pre share its Hurst and Holt numbers."""
    size = _REPEATED
    for i in range(out.shape[0]):
        size = max(size, splits[i] - starts[i])
    sample, workspace = sample_for(size), np.empty(holt_ets.WORKSPACE)
    for i in range(out.shape[0]):
        pre, after = values[starts[i] : splits[i]], values[splits[i] : ends[i]]
        if i > 0 and starts[i] == starts[i - 1] and splits[i] == splits[i - 1]:
            out[i, 2:5] = out[i - 1, 2:5]
        else:
            out[i, 2] = hurst(pre, sample)
            out[i, 3], out[i, 4] = fit_side(_repeated(pre), workspace)
        out[i, 7] = hurst(after, sample)
        out[i, 8], out[i, 9] = fit_side(_repeated(after), workspace)
        levels = bauer.levels(pre, sums_of(pre), after, sums_of(after))
        out[i, 0], out[i, 1], out[i, 5], out[i, 6] = levels


@kernel
def fit_side(values: Floats, workspace: Floats) -> tuple[float, float]:
    """Return alpha and beta of one side.

    A single value has alpha 0.2 and beta 0. Every smoothing fits equal values perfectly, so the
    result is the start of the search: (0.2, 0.02), or (0.20006, 0.020096) for nine or more values.
    """
    if values.size == 1:
        return SINGLE_VALUE
    if values.size <= SHORT:
        return fit_holt_winters(reduced(values, LARGE_SHORT))
    if np.all(values == values[0]):
        return holt_ets.START_ALPHA, holt_ets.START_BETA
    return fit_ets(reduced(values, LARGE), workspace)


@kernel
def reduced(values: Floats, limit: float) -> Floats:
    """Return the values, divided by a power of two if the largest is beyond the limit."""
    largest = np.max(np.abs(values))
    if largest <= limit:
        return values
    return values * math.ldexp(1.0, -math.frexp(largest / limit)[1])


@kernel
def _repeated(side: Floats) -> Floats:
    """Return a side of one or two values repeated to four, any other as it is."""
    if side.size > 2:
        return side
    four = np.empty(_REPEATED)
    for t in range(_REPEATED):
        four[t] = side[t % side.size]
    return four


SIDES = Family(SOURCES, rows)
DELTAS = Derived((*NAMES, "distance"), (SIDES,), with_distance)
