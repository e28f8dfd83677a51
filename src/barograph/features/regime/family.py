"""The regime features: Pre is the whole known history, After the newest points."""

import numpy as np

from barograph.features.families import Derived, Family
from barograph.features.regime import past, tracker
from barograph.features.regime.step import NAMES, ONLINE_NAMES, describe
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel


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


@kernel
def regime_length(values: Floats) -> int:
    """Return the number of values in the regime that the last of them belongs to."""
    table, state = np.empty((tracker.ROWS, values.size)), np.zeros(tracker.LENGTH)
    for value in values:
        tracker.append(table, state, value)
    return values.size - int(state[tracker.START])


FAMILY = Family(NAMES, rows)
ONLINE = Derived(ONLINE_NAMES, (FAMILY,), lambda rows: rows[:, : len(ONLINE_NAMES)])
