"""Which values of a series a decision reads.

The last ones are kept. Beside a level three times as high a small step cannot be seen: models and
rules compare the newest result with the range of those before it. So a step by such a factor begins
the history again, once enough results have followed. It is found from the values alone: a decision
does not depend on earlier ones, and a wrong alarm cannot cut the history.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from barograph.results.repeats import MAD_TO_SD
from barograph.results.series import Flags, Floats, Ints

HISTORY = 500  # values kept by the detector, replay and the store
T = TypeVar("T", int, Ints)

# Each result of the old level is at least that many times the new level, or as many times smaller:
# so a step by a factor of three counts, unless single results scatter by more than 5 %.
FACTOR = 2.5
LASTING = 5  # results of the old level right before the step; fewer are spikes
SETTLED = 21  # results from the step on; odd, so that their median is one of them
# The old level is that many noise units of the new one away: a level near zero has any factor.
AWAY = 10.0


def kept_from(place: T, history: int) -> T:
    """Return the first value that is kept when the point at a place arrives.

    Half of the history is dropped whenever it is full: this costs little per point, and what is
    kept does not depend on how the values were split into batches.
    """
    half = history // 2
    block: T = (place // half - 1) * half
    return block * (block > 0)


def starts_of(values: Floats) -> Ints:
    """Return, for each result and the next to come, the first that it is compared with.

    Args:
        values: The results that are kept, oldest first.

    Example:
        >>> starts = starts_of(np.array([50.0] * 30 + [4.0, 4.1, 3.9] * 10))
        >>> int(starts[50]), int(starts[51]), int(starts[60])
        (0, 30, 30)
    """
    starts = np.zeros(values.size + 1, dtype=np.int64)
    sizes = np.abs(values)
    if values.size <= SETTLED or sizes.min() > sizes.max() / FACTOR:
        return starts
    since = sliding_window_view(values, SETTLED)[1:]  # from the second result on
    levels = _middle(since)
    with np.errstate(over="ignore"):
        noise = MAD_TO_SD * _middle(np.abs(since - levels))
        # Fewer results before a step are enough where the history begins with them.
        padded = np.concatenate([np.full(LASTING, np.inf), values])
        around = sliding_window_view(padded, LASTING + 1)[1 : levels.size + 1]
        is_far = np.abs(around - levels) > AWAY * noise
    is_other = is_far & _differs_in_scale(around, levels)
    places = np.flatnonzero(is_other[:, :-1].all(axis=1) & ~is_other[:, -1]) + 1
    starts[places + SETTLED] = places
    return np.maximum.accumulate(starts)


def compared(values: Floats) -> Floats:
    """Return the last results that the next to come is compared with."""
    return values[starts_of(values)[-1] :]


def compared_from(values: Floats, kept: Ints, newest: Ints) -> Ints:
    """Return the position of the first result that each of many new ones is compared with.

    Args:
        values: The values of all series, concatenated.
        kept: For each new result, the position of the first that is kept; never falling.
        newest: The position of each, rising.
    """
    if not newest.size:
        return kept
    starts = kept.copy()
    cuts = np.flatnonzero(np.diff(kept)) + 1
    firsts, lasts = np.append(0, cuts), np.append(cuts, newest.size) - 1
    edges = np.column_stack([kept[firsts], newest[lasts]]).ravel()
    # Without a copy of all values: a series on both sides of zero is always looked at.
    low, high = (function.reduceat(values, edges)[::2] for function in (np.minimum, np.maximum))
    least, most = np.maximum(np.maximum(low, -high), 0.0), np.maximum(high, -low)
    for k in np.flatnonzero(least <= most / FACTOR).tolist():
        rows, first = slice(firsts[k], lasts[k] + 1), kept[firsts[k]]
        starts[rows] += starts_of(values[first : newest[lasts[k]]])[newest[rows] - first]
    return starts


def _middle(rows: Floats) -> Floats:
    """Return the median of each row as a column; rows are odd."""
    middle: Floats = np.partition(rows, SETTLED // 2, axis=1)[:, SETTLED // 2, None]
    return middle


def _differs_in_scale(values: Floats, levels: Floats) -> Flags:
    sizes, scales = np.abs(values), np.abs(levels)
    differs: Flags = np.minimum(sizes, scales) <= np.maximum(sizes, scales) / FACTOR
    return differs
