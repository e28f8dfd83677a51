"""The contrasts that depend on the series around Pre and After: its noise, range and levels."""

import math

import numpy as np
import numpy.typing as npt

from barograph.features import checks
from barograph.features.contrast.robust import (
    LEAST,
    ROUNDING,
    bimodality,
    direction,
    lag1,
    log_ratio,
    median,
    noise_and_deviation,
    quantile,
    rank_separation,
    scaled,
    usual_move,
)
from barograph.results.series import Floats, Ints, as_floats
from barograph.runtime.compiled import kernel

WIDTHS = (6, 12, 25, 50, 100)
RANKED = (25, 50, 100)
CONTEXT_NAMES = (
    "step_of_range",
    "noise_of_range",
    "step_over_series_moves",
    "moves_over_noise",
    "moves_of_range",
    "series_lag1",
    "series_bimodality",
    "points_before",
    "points_behind",
    *(f"wide_step_{width}" for width in WIDTHS),
    *(f"wide_share_{width}" for width in WIDTHS),
    *(f"wide_rank_{width}" for width in RANKED),
    "hold_before",
    "hold_after",
    "hold_shortest",
    "hold_step",
    "hold_share",
)
_AT_STEP = 9
_AT_SHARE = _AT_STEP + len(WIDTHS)
_AT_RANK = _AT_SHARE + len(WIDTHS)
_AT_HOLD = _AT_RANK + len(RANKED)
_UNRANKED = len(WIDTHS) - len(RANKED)
# A level ends where this many points in a row are beyond the middle of the step.
_IN_A_ROW = 4
# At most this many points on each side are compared while both levels hold.
_HELD = 40


def contrast_context(
    values: npt.ArrayLike,
    starts: npt.ArrayLike,
    splits: npt.ArrayLike,
    ends: npt.ArrayLike,
    firsts: npt.ArrayLike,
    lasts: npt.ArrayLike,
) -> Floats:
    """Describe the series around each candidate: one row per candidate, CONTEXT_NAMES as columns.

    Args:
        values: All values; Pre is values[start:split], After is values[split:end].
        starts: Where each Pre starts.
        splits: Where each After starts.
        ends: Where each After ends.
        firsts: Where each candidate's series starts.
        lasts: Where the known part of each candidate's series ends; later values are not
            read. Pass `ends` if the future must not be seen.

    Raises:
        ValueError: The bounds do not fit, or a series holds a value that is not finite.
    """
    numbers = as_floats(values)
    table = checks.bounds(starts, splits, ends, numbers.size)
    series = checks.bounds(firsts, splits, lasts, numbers.size)
    if (series[0] > table[0]).any() or (series[2] < table[2]).any():
        k = int(np.argmax((series[0] > table[0]) | (series[2] < table[2])))
        raise ValueError(
            f"candidate {k} has Pre and After from {table[0, k]} to {table[2, k]}, outside its "
            f"series, {series[0, k]} to {series[2, k]}"
        )
    checks.covered(numbers, series)
    out: Floats = np.empty((table.shape[1], len(CONTEXT_NAMES)))
    context_rows(numbers, table[0], table[1], table[2], series[0], series[2], out, 0)
    return out


@kernel
def context_rows(
    values: Floats,
    starts: Ints,
    splits: Ints,
    ends: Ints,
    firsts: Ints,
    lasts: Ints,
    out: Floats,
    column: int,
) -> None:
    """Fill the columns from `column` on; successive candidates of a series share its summary."""
    first = last = -1
    series, summary = values[:0], np.empty(5)
    for i in range(starts.size):
        if firsts[i] != first or lasts[i] != last:
            first, last = firsts[i], lasts[i]
            series = scaled(values[first:last])
            _summarise(series, summary)
        _fill_row(
            series, summary, starts[i] - first, splits[i] - first, ends[i] - first, out[i, column:]
        )


@kernel
def _summarise(series: Floats, summary: Floats) -> None:
    """Fill floor, range, usual move, lag-1 correlation and bimodality of a scaled series."""
    ordered = np.sort(series)
    summary[0] = LEAST * (ordered[-1] - ordered[0]) + ROUNDING
    summary[1] = quantile(ordered, 0.995) - quantile(ordered, 0.005)
    summary[2] = usual_move(series)
    summary[3] = lag1(series, series.mean())
    summary[4] = bimodality(ordered)


@kernel
def _fill_row(
    series: Floats, summary: Floats, start: int, split: int, end: int, out: Floats
) -> None:
    """Fill the row of one candidate."""
    floor, extent, move = summary[0], summary[1] + summary[0], summary[2]
    pre_sorted, after_sorted = np.sort(series[start:split]), np.sort(series[split:end])
    low, high = median(pre_sorted), median(after_sorted)
    sign = direction(series[start:split], series[split:end], high - low)
    step = abs(high - low) if sign != 0.0 else 0.0
    noise = noise_and_deviation(pre_sorted, after_sorted, low, high)[0] + floor
    out[0] = log_ratio(step, extent)
    out[1] = log_ratio(noise, extent)
    out[2] = log_ratio(step, move + floor)
    out[3] = log_ratio(move, noise)
    out[4] = log_ratio(move, extent)
    out[5], out[6] = summary[3], summary[4]
    out[7], out[8] = math.log(split), math.log(series.size - split)
    least = 0.1 * move + floor
    for k in range(len(WIDTHS)):
        left = np.sort(series[max(0, split - WIDTHS[k]) : split])
        right = np.sort(series[split : split + WIDTHS[k]])
        out[_AT_STEP + k], out[_AT_SHARE + k] = _compare(left, right, sign, least, extent)
        if k >= _UNRANKED:
            out[_AT_RANK + k - _UNRANKED] = sign * rank_separation(left, right)
    middle = 0.5 * (low + high)
    earlier = _held(series, split - 1, -1, middle, -sign)
    later = _held(series, split, 1, middle, sign)
    out[_AT_HOLD] = math.log1p(earlier)
    out[_AT_HOLD + 1] = math.log1p(later)
    out[_AT_HOLD + 2] = math.log1p(min(earlier, later))
    left = np.sort(series[split - max(1, min(earlier, _HELD)) : split])
    right = np.sort(series[split : split + max(1, min(later, _HELD))])
    out[_AT_HOLD + 3], out[_AT_HOLD + 4] = _compare(left, right, sign, least, extent)


@kernel
def _compare(
    left: Floats, right: Floats, sign: float, least: float, extent: float
) -> tuple[float, float]:
    """Return the step between two sorted stretches over their noise, and over the range."""
    low, high = median(left), median(right)
    noise = noise_and_deviation(left, right, low, high)[0] + least
    step = sign * (high - low)
    return log_ratio(step, noise), log_ratio(step, extent)


@kernel
def _held(series: Floats, first: int, way: int, middle: float, side: float) -> int:
    """Return for how many points, from the first on, a level stays on its side of the middle."""
    row = 0
    count = series.size - first if way > 0 else first + 1
    for k in range(count):
        row = row + 1 if side * (series[first + way * k] - middle) <= 0.0 else 0
        if row == _IN_A_ROW:
            return k + 1 - _IN_A_ROW
    return count
