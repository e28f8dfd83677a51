"""The newest points of a series compared with its current regime, habits and former levels.

Pre is the whole known history, After the newest points. They are compared with a summary of the
history before them: a row of numbers that no later point changes.
"""

import math

import numpy as np

from barograph.features.contrast.robust import (
    LEAST,
    MAD_OF_GAUSS,
    lag1,
    log_ratio,
    median,
    middle_distance,
    usual_move,
)
from barograph.features.families import Derived, Family
from barograph.features.regime import tracker
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel

REACHES = (5, 15, 40)
ONLINE_NAMES = (
    "edge",
    "edge_30",
    "edge_moves",
    "jump",
    "jump_moves",
    "jump_of_largest",
    "step_of_level",
    "step_sign",
    "step_of_extent",
    "unit_of_level",
    "unit_of_extent",
    "moves_of_unit",
    "moves_lately",
    "regime_lag1",
    "regime_length",
    "history_length",
    *(f"gap_{reach}" for reach in REACHES),
    "beyond",
    "beyond_100",
    "visits",
    "visits_100",
    "since_visit",
    "former_level",
    "shifts",
    "step_of_mean_shift",
    "step_of_largest_shift",
    "spikes",
    "spikes_both",
    "since_spike",
    "spikes_lasting",
    "level_lately",
    "trend_lately",
    "one_before",
    "two_before",
    "split_gain",
    "split_place",
)
CONFIRM_NAMES = (
    "segment_step",
    "segment_first",
    "segment_last",
    "segment_noise",
    "segment_share",
    "window",
)
NAMES = ONLINE_NAMES + CONFIRM_NAMES
_AT_HABITS, _AT_PLACE = ONLINE_NAMES.index("beyond"), ONLINE_NAMES.index("level_lately")
Change = tuple[float, float, float, float]  # the new level, its nearest point, sign and step

_NEAR = 0.25  # of the step: a value this close to the new level is a visit
_SPIKE = 0.6  # of the step: a value this far from its level is an excursion
_LASTING = 12
_PLACES = 5
_RECENT = 100
_MOST = 4.0

# The entries of a summary.
COUNT, START, LEVEL, UNIT, FLOOR, MOVE, MOVE_12, LAG1, EXTENT = range(9)
MEDIAN_30, UNIT_30, MEDIAN_5, LARGEST_MOVE, SHIFTS, MEAN_SHIFT, LARGEST_SHIFT = range(9, 16)
WIDTH = 16

_MOVES = 60
_SERIAL = 50
_SHORT = 30
_TAIL = 0.005


@kernel
def summarise(table: Floats, state: Floats, out: Floats) -> None:
    """Fill the summary for the next point from the tracker's state, in its scale."""
    n, start = int(state[tracker.COUNT]), int(state[tracker.START])
    values = table[tracker.VALUES, :n]
    floor = LEAST * state[tracker.PEAK] + 1e-300
    out[COUNT], out[START] = n, start
    out[LEVEL], out[UNIT], out[FLOOR] = state[tracker.LEVEL], state[tracker.UNIT] + floor, floor
    out[MOVE] = _noise_of_last(values, _MOVES) + floor
    out[MOVE_12] = _noise_of_last(values, 12) + floor
    out[LAG1] = lag1(values[max(start, n - _SERIAL) :], state[tracker.LEVEL])
    out[EXTENT] = extent(values) + floor
    recent = np.sort(values[max(0, n - _SHORT) :])
    out[MEDIAN_30] = median(recent)
    noise = middle_distance(recent, out[MEDIAN_30]) / MAD_OF_GAUSS
    out[UNIT_30] = max(noise, 0.5 * recent.std()) + floor
    out[MEDIAN_5] = median(np.sort(values[max(0, n - 5) :]))
    out[LARGEST_MOVE] = state[tracker.LARGEST_MOVE] + floor
    shifts = state[tracker.SHIFTS]
    out[SHIFTS] = shifts
    out[MEAN_SHIFT] = state[tracker.SHIFT_SUM] / max(1.0, shifts) + floor
    out[LARGEST_SHIFT] = state[tracker.LARGEST_SHIFT] + floor


@kernel
def _noise_of_last(values: Floats, width: int) -> float:
    """Return the noise estimated from the last `width` moves."""
    return usual_move(values[max(0, values.size - width - 1) :])


@kernel
def extent(values: Floats) -> float:
    """Return the distance between the 0.5 % and 99.5 % quantiles; only the tails are sorted.

    Both are interpolated: the upper one between the last two of the largest values.
    """
    place = (values.size - 1) * (1.0 - _TAIL)
    low = int(place)
    largest = _largest(values, values.size - low, 1.0)
    upper = largest[-1]
    if largest.size > 1:
        upper += (largest[-2] - upper) * (place - low)
    place = (values.size - 1) * _TAIL
    low = int(place)
    smallest = _largest(values, min(low + 2, values.size), -1.0)
    lower = -smallest[low]
    if smallest.size > low + 1:
        lower += (-smallest[low + 1] - lower) * (place - low)
    return float(upper - lower)


@kernel
def _largest(values: Floats, count: int, sign: float) -> Floats:
    """Return the `count` largest values, or the negated smallest ones if `sign` is -1."""
    top = np.full(count, -np.inf)
    for value in values:
        x = sign * value
        if x > top[-1]:
            k = count - 1
            while k > 0 and top[k - 1] < x:
                top[k] = top[k - 1]
                k -= 1
            top[k] = x
    return top


@kernel
def describe(table: Floats, known: Floats, split: int, end: int, out: Floats) -> None:
    """Fill one row from the summary before `split` and the values up to `end`."""
    values = table[tracker.VALUES]
    level, unit = known[LEVEL], known[UNIT]
    segment = np.sort(values[split:end])
    middle = median(segment)
    sign = 1.0 if middle >= level else -1.0
    step = sign * (middle - level)
    change = (middle, segment[0] if sign > 0.0 else segment[-1], sign, step)
    _against_units(values, known, split, change, out)
    _habits(table, known, split, change, out[_AT_HABITS:])
    _place(values, known, split, end, change, out[_AT_PLACE:])
    out = out[len(ONLINE_NAMES) :]
    out[0] = log_ratio(step, unit)
    size = step + known[FLOOR]
    out[1] = _clipped(sign * (values[split] - level) / size)
    out[2] = _clipped(sign * (values[end - 1] - level) / size)
    out[3] = log_ratio(segment.std(), unit)
    share = 0
    for value in segment:
        share += sign * (value - level) > 0.5 * step
    out[4] = share / segment.size
    out[5] = end - split - 1


@kernel
def _against_units(values: Floats, known: Floats, split: int, change: Change, out: Floats) -> None:
    """Compare edge, jump and step with the noise, and describe the noise."""
    _, nearest, sign, step = change
    level, unit = known[LEVEL], known[UNIT]
    move, extent, floor = known[MOVE], known[EXTENT], known[FLOOR]
    jump = sign * (values[split] - values[split - 1])
    out[0] = log_ratio(sign * (nearest - level), unit)
    out[1] = log_ratio(sign * (nearest - known[MEDIAN_30]), known[UNIT_30])
    out[2] = log_ratio(sign * (nearest - level), move + 0.1 * unit)
    out[3] = log_ratio(jump, unit)
    out[4] = log_ratio(jump, move + 0.1 * unit)
    out[5] = log_ratio(jump, known[LARGEST_MOVE])
    out[6] = log_ratio(100.0 * step, abs(level) + floor)
    out[7] = sign
    out[8] = log_ratio(step, extent)
    out[9] = math.log(unit / (abs(level) + floor) + 1e-9)
    out[10] = math.log(unit / extent)
    out[11] = math.log(move / unit)
    out[12] = math.log(known[MOVE_12] / move)
    out[13] = known[LAG1]
    out[14] = math.log(known[COUNT] - known[START])
    out[15] = math.log(known[COUNT])
    for k in range(len(REACHES)):
        farthest = -np.inf
        for i in range(max(0, split - REACHES[k]), split):
            farthest = max(farthest, sign * values[i])
        out[16 + k] = log_ratio(sign * nearest - farthest, unit)


@kernel
def _habits(table: Floats, known: Floats, split: int, change: Change, out: Floats) -> None:
    """Fill how often and how recently the series visited the new level, shifted or spiked."""
    middle, nearest, sign, step = change
    values, levels = table[tracker.VALUES], table[tracker.LEVELS]
    near = max(_NEAR * step, 0.5 * known[UNIT])
    start, recent_start = int(known[START]), split - _RECENT
    beyond = beyond_recent = visits = visits_recent = 0
    last_visit, former = -1, np.inf
    for i in range(split):
        if sign * (values[i] - nearest) >= 0.0:
            beyond += 1
            beyond_recent += i >= recent_start
        if abs(values[i] - middle) <= near:
            visits += 1
            visits_recent += i >= recent_start
            last_visit = i
        if i < start:
            former = min(former, abs(middle - levels[i]))
    recent = min(split, _RECENT)
    out[0], out[1] = beyond / split, beyond_recent / recent
    out[2], out[3] = visits / split, visits_recent / recent
    out[4] = math.log(split - last_visit)
    out[5] = _clipped(former / (step + known[FLOOR])) if start else _MOST
    out[6] = math.log1p(known[SHIFTS]) - math.log(split)
    out[7] = log_ratio(step, known[MEAN_SHIFT])
    out[8] = log_ratio(step, known[LARGEST_SHIFT])
    _spikes(values, levels, split, sign, max(_SPIKE * step, known[UNIT]), out[9:])


@kernel
def _spikes(
    values: Floats, levels: Floats, split: int, sign: float, far: float, out: Floats
) -> None:
    """Fill how often and how recently the series left its level by at least `far`."""
    spikes = both = lasting = 0
    last, was = -1, False
    for i in range(split):
        away = values[i] - levels[i]
        if abs(away) >= far and not was:
            both += 1
            if sign * away > 0.0:
                spikes += 1
                last = i
            lasting += _lasts(values, levels[i], i, split, away)
        was = abs(away) >= far
    out[0], out[1] = math.log1p(spikes), math.log1p(both)
    out[2] = math.log(split - last)
    out[3] = (lasting + 0.3) / (both + 1.0)


@kernel
def _lasts(values: Floats, level: float, first: int, end: int, away: float) -> bool:
    """Return whether most points after the start of an excursion stay beyond half of it."""
    if first + _LASTING > end:
        return False
    stay = 0
    for i in range(first, first + _LASTING):
        stay += (values[i] - level) / away > 0.5
    return 4 * stay >= 3 * _LASTING


@kernel
def _place(
    values: Floats, known: Floats, split: int, end: int, change: Change, out: Floats
) -> None:
    """Fill whether the step began before the split, and how the split compares with others."""
    _, _, sign, step = change
    level, unit, size = known[LEVEL], known[UNIT], step + known[FLOOR]
    out[0] = log_ratio(sign * (known[MEDIAN_5] - level), unit)
    out[1] = log_ratio(sign * (known[MEDIAN_5] - known[MEDIAN_30]), unit)
    out[2] = _clipped(sign * (values[split - 1] - level) / size)
    out[3] = _clipped(sign * (values[max(0, split - 2)] - level) / size)
    total = best = here = 0.0
    place = 0
    for i in range(end - 1, max(0, split - _PLACES) - 1, -1):
        total += sign * (values[i] - level)
        gain = total * abs(total) / (end - i)
        if i == split:
            here = gain
        if i == end - 1 or gain > best:
            best, place = gain, i - split
    out[4] = max(here, 0.0) / best if best > 0.0 else 0.0
    out[5] = place


@kernel
def _clipped(ratio: float) -> float:
    """Return a ratio limited to the informative range."""
    return min(max(ratio, -_MOST), _MOST)


@kernel
def rows(
    values: Floats,
    starts: Ints,
    splits: Ints,
    ends: Ints,
    context: Floats,  # noqa: ARG001 - only other families use it
    out: Floats,
) -> None:
    """Fill all rows; successive rows of one history with rising splits share the tracker."""
    longest = 0
    for i in range(starts.size):
        longest = max(longest, ends[i] - starts[i])
    table, state = np.empty((tracker.ROWS, longest)), np.zeros(tracker.LENGTH)
    known = np.empty(WIDTH)
    first = done = -1
    for i in range(starts.size):
        if starts[i] != first or splits[i] < done:
            first = done = starts[i]
            state[:] = 0.0
        fresh = splits[i] > done
        for k in range(done, splits[i]):
            tracker.append(table, state, values[k])
        done = splits[i]
        if fresh:
            summarise(table, state, known)
        scale = state[tracker.SCALE]
        for k in range(done, ends[i]):
            scale = scale if scale != 0.0 else tracker.unit_of(values[k])
            table[tracker.VALUES, k - first] = tracker.scaled(values[k], scale)
        describe(table, known, done - first, ends[i] - first, out[i])


@kernel
def regime_length(values: Floats) -> int:
    """Return the number of values in the regime that the last of them belongs to."""
    table, state = np.empty((tracker.ROWS, values.size)), np.zeros(tracker.LENGTH)
    for value in values:
        tracker.append(table, state, value)
    return values.size - int(state[tracker.START])


FAMILY = Family(NAMES, rows)
ONLINE = Derived(ONLINE_NAMES, (FAMILY,), lambda rows: rows[:, : len(ONLINE_NAMES)])
