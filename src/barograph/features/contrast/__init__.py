"""Effect sizes of the step at a candidate, from both of its sides and from its whole series.

docs/features-contrasts.md describes every column.
The first columns depend on Pre and After only. The others, CONTEXT_NAMES, depend on the series
around them, too: its noise, range and levels.
"""

import math

import numpy as np
import numpy.typing as npt

from barograph.features.contrast.robust import (
    LEAST,
    ROUNDING,
    bimodality,
    direction,
    lag1,
    log_ratio,
    median,
    merged,
    noise_and_deviation,
    quantile,
    rank_separation,
    scaled,
    usual_move,
)
from barograph.features.families import Family, bounds, one_pair
from barograph.results.series import Floats, Ints, as_floats, require_finite
from barograph.runtime.compiled import kernel

SIDE_NAMES = (
    "step_over_noise",
    "step_t",
    "cohen_d",
    "rank_separation",
    "spread_change",
    "step_relative",
    "noise_relative",
    "jump_over_moves",
    "jump_share",
    "pre_length",
    "after_length",
    "pre_lag1",
    "pre_slope",
    "after_slope",
    "bimodality",
    "pre_tail",
    "after_tail",
    "step_12",
)
# The points on each side that the last of them compares.
NEAR = 12
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
NAMES = (*SIDE_NAMES, *CONTEXT_NAMES)


def contrasts(
    pre: npt.ArrayLike, after: npt.ArrayLike, context: npt.ArrayLike | None = None
) -> dict[str, float]:
    """Return how large and how clear the step from Pre to After is, without scale and direction.

    Args:
        pre: The values before the candidate, at least one.
        after: The values from the candidate on, at least one.
        context: The candidate's row of `contrast_context`; without it, Pre and After count as
            the whole series.

    Raises:
        ValueError: A side is empty, not one-dimensional, or holds something that is not a finite
            number, or the context does not match CONTEXT_NAMES.
    """
    return one_pair(FAMILY, pre, after, context)


def rows(
    values: Floats, starts: Ints, splits: Ints, ends: Ints, context: Floats, out: Floats
) -> None:
    """Fill one row of `out` per candidate; see `families`."""
    if context.shape[1] not in (0, len(CONTEXT_NAMES)):
        raise ValueError(
            f"context has {context.shape[1]} columns; the contrasts need the "
            f"{len(CONTEXT_NAMES)} of contrast_context, or none"
        )
    sides_rows(values, starts, splits, ends, out)
    if context.shape[1]:
        out[:, len(SIDE_NAMES) :] = context
    else:
        context_rows(values, starts, splits, ends, starts, ends, out, len(SIDE_NAMES))


@kernel
def sides_rows(values: Floats, starts: Ints, splits: Ints, ends: Ints, out: Floats) -> None:
    """Fill the columns that depend on Pre and After only."""
    for i in range(starts.size):
        pair = scaled(values[starts[i] : ends[i]])
        split = splits[i] - starts[i]
        sides_into(pair[:split], pair[split:], out[i])


@kernel
def sides_into(pre: Floats, after: Floats, out: Floats) -> None:
    """Fill the columns of one candidate, whose values are scaled into -1 to 1."""
    pre_sorted, after_sorted = np.sort(pre), np.sort(after)
    low, high = median(pre_sorted), median(after_sorted)
    lowest = min(pre_sorted[0], after_sorted[0])
    floor = LEAST * (max(pre_sorted[-1], after_sorted[-1]) - lowest) + ROUNDING
    sign = direction(pre, after, high - low)
    step = abs(high - low) if sign != 0.0 else 0.0
    noise, deviation = noise_and_deviation(pre_sorted, after_sorted, low, high)
    noise += floor
    weight = math.sqrt(pre.size * after.size / (pre.size + after.size))
    out[0] = log_ratio(step, noise)
    out[1] = log_ratio(step * weight, noise)
    out[2] = log_ratio(abs(after.mean() - pre.mean()), deviation + floor)
    out[3] = abs(rank_separation(pre_sorted, after_sorted))
    out[4] = _spread_change(pre_sorted, after_sorted, low, high, floor)
    level = 0.5 * (abs(low) + abs(high))
    out[5] = log_ratio(step, level + floor)
    out[6] = log_ratio(noise, level + floor)
    jump = sign * (after[0] - pre[-1])
    out[7] = log_ratio(jump, max(usual_move(pre), usual_move(after)) + floor)
    out[8] = jump / (step + noise)
    out[9], out[10] = math.log(pre.size), math.log(after.size)
    out[11] = lag1(pre, pre.mean())
    out[12] = sign * _rise(pre) / (step + noise)
    out[13] = sign * _rise(after) / (step + noise)
    out[14] = bimodality(merged(pre_sorted, after_sorted))
    out[15] = log_ratio(max(pre_sorted[-1] - low, low - pre_sorted[0]), noise)
    out[16] = log_ratio(max(after_sorted[-1] - high, high - after_sorted[0]), noise)
    near, far = np.sort(pre[-NEAR:]), np.sort(after[:NEAR])
    a, b = median(near), median(far)
    out[17] = log_ratio(sign * (b - a), noise_and_deviation(near, far, a, b)[0] + 0.1 * noise)


@kernel
def _spread_change(before: Floats, after: Floats, low: float, high: float, floor: float) -> float:
    """Return |log of the ratio of the noises|, whichever side is noisier."""
    earlier = noise_and_deviation(before, before[:0], low, low)[0] + floor
    later = noise_and_deviation(after, after[:0], high, high)[0] + floor
    return abs(math.log(later / earlier))


@kernel
def _rise(values: Floats) -> float:
    """Return how much the least-squares line rises from the first value to the last."""
    if values.size < 2:
        return 0.0
    middle = 0.5 * (values.size - 1)
    products = squares = 0.0
    for i in range(values.size):
        products += (i - middle) * values[i]
        squares += (i - middle) ** 2
    return products / squares * (values.size - 1)


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
        ValueError: The bounds do not fit, or a value is not finite.
    """
    numbers = as_floats(values)
    table = bounds(starts, splits, ends, numbers.size)
    series = bounds(firsts, splits, lasts, numbers.size)
    if (series[0] > table[0]).any() or (series[2] < table[2]).any():
        k = int(np.argmax((series[0] > table[0]) | (series[2] < table[2])))
        raise ValueError(
            f"candidate {k} has Pre and After from {table[0, k]} to {table[2, k]}, outside its "
            f"series, {series[0, k]} to {series[2, k]}"
        )
    require_finite(numbers)
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


FAMILY = Family(NAMES, rows, contrast_context)
