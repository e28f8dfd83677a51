"""The regime features as a family: Pre is the whole known history, After the newest points."""

import math

import numpy as np

from barograph.compiled import kernel
from barograph.features.families import Family
from barograph.features.regime import past, tracker
from barograph.features.regime.step import NAMES, describe
from barograph.series import Floats, Ints

LONGEST = 10  # the largest window: so many points may follow the one that is judged
_ROOM = 128


@kernel
def rows(
    values: Floats,
    starts: Ints,
    splits: Ints,
    ends: Ints,
    context: Floats,  # noqa: ARG001 - all that is known before a point is Pre
    out: Floats,
) -> None:
    """Fill all rows; those of one history, by rising split, share the tracker's way."""
    longest = 0
    for i in range(starts.size):
        longest = max(longest, ends[i] - starts[i])
    table, state = np.empty((tracker.ROWS, longest)), np.zeros(tracker.LENGTH)
    known = np.empty(past.WIDTH)
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
            past.summarise(table, state, known)
        scale = state[tracker.SCALE]
        for k in range(done, ends[i]):
            scale = scale if scale != 0.0 else tracker.unit_of(values[k])
            table[tracker.VALUES, k - first] = tracker.scaled(values[k], scale)
        describe(table, known, done - first, ends[i] - first, out[i])


class GrowingHistory:
    """The history of one series; its rows have the very bits of `feature_matrix`."""

    def __init__(self) -> None:
        self._table = np.empty((tracker.ROWS, _ROOM))
        self._state = np.zeros(tracker.LENGTH)
        self._known = np.empty((LONGEST + 1, past.WIDTH))
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def regime(self) -> int:
        """How many of the newest values the current regime has."""
        return self._size - int(self._state[tracker.START])

    def append(self, value: float) -> None:
        """Take the newest value: O(1), but for one pass of copying to keep values in order."""
        if not math.isfinite(value):
            raise ValueError(f"value {self._size} is {value}; it must be finite")
        if self._size == self._table.shape[1]:
            self._table = np.concatenate((self._table, np.empty_like(self._table)), axis=1)
        grow(self._table, self._state, self._known, float(value))
        self._size += 1

    def describe(self, window: int = 0) -> Floats:
        """Return the row of `confirm` for the point that `window` points have followed."""
        if not 0 <= window <= min(LONGEST, self._size - 2):
            raise ValueError(
                f"window {window} of {self._size} values: it must be 0 to {LONGEST}, "
                "and at least one value must come before"
            )
        out = np.empty(len(NAMES))
        newest(self._table, self._known, self._size, window, out)
        return out


@kernel
def grow(table: Floats, state: Floats, known: Floats, value: float) -> None:
    """Note what is known before the value, then take it."""
    n = int(state[tracker.COUNT])
    if n:
        past.summarise(table, state, known[n % (LONGEST + 1)])
    tracker.append(table, state, value)


@kernel
def newest(table: Floats, known: Floats, size: int, window: int, out: Floats) -> None:
    """Describe the point with `window` points behind it."""
    split = size - 1 - window
    describe(table, known[split % (LONGEST + 1)], split, size, out)


FAMILY = Family(NAMES, rows)
