"""The regime features, for many candidates at once and for one series as it grows.

Pre is the whole known history, After the newest points.
"""

import math

import numpy as np

from barograph.compiled import kernel
from barograph.features.families import Family
from barograph.features.regime import past, tracker
from barograph.features.regime.step import NAMES, describe
from barograph.series import Floats, Ints

LONGEST = 10  # the largest number of points that may follow the described point
_ROOM = 128


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
    """A series that grows point by point; its rows equal those of `feature_matrix` to the bit."""

    def __init__(self) -> None:
        self._table = np.empty((tracker.ROWS, _ROOM))
        self._state = np.zeros(tracker.LENGTH)
        self._known = np.empty((LONGEST + 1, past.WIDTH))
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def regime(self) -> int:
        """The number of values in the current regime."""
        return self._size - int(self._state[tracker.START])

    def append(self, value: float) -> None:
        """Append the newest value, in O(1) plus an insertion into the sorted values."""
        if not math.isfinite(value):
            raise ValueError(f"value {self._size} is {value}; it must be finite")
        if self._size == self._table.shape[1]:
            self._table = np.concatenate((self._table, np.empty_like(self._table)), axis=1)
        grow(self._table, self._state, self._known, float(value))
        self._size += 1

    def describe(self, window: int = 0) -> Floats:
        """Return the row of the set `confirm` for the point with `window` points after it."""
        if not 0 <= window <= min(LONGEST, self._size - 2):
            raise ValueError(
                f"window {window} of {self._size} values: it must be 0 to {LONGEST}, "
                "with at least one value before the described point"
            )
        out = np.empty(len(NAMES))
        describe_newest(self._table, self._known, self._size, window, out)
        return out


@kernel
def grow(table: Floats, state: Floats, known: Floats, value: float) -> None:
    """Store the summary of the history before the value, then append the value."""
    n = int(state[tracker.COUNT])
    if n:
        past.summarise(table, state, known[n % (LONGEST + 1)])
    tracker.append(table, state, value)


@kernel
def describe_newest(table: Floats, known: Floats, size: int, window: int, out: Floats) -> None:
    """Describe the point that is followed by `window` points."""
    split = size - 1 - window
    describe(table, known[split % (LONGEST + 1)], split, size, out)


FAMILY = Family(NAMES, rows)
