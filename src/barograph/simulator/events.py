"""Events: where the level of a series shifts."""

from dataclasses import dataclass

import numpy as np

from barograph.results.series import Floats, Ints
from barograph.simulator.projects import Change

# A change that affects several series moves each by its own amount around the common one.
AMOUNT_SPREAD = 0.5
# No change moves a level by more than a factor of 5, and few by more than 2.
LARGEST = 1.6
LARGEST_COMMON = 0.8
SLOW_WINDOW = 12


@dataclass(frozen=True, slots=True)
class Event:
    """A shift of the level of a series; `shift` is the change of its logarithm."""

    index: int
    shift: float
    kind: str  # step, regressed, reverted or slow


def steps(
    changes: list[Change], orders: Ints, cv: float, sign: int, rng: np.random.Generator
) -> list[Event]:
    """Turn the changes that affect this series into shifts at the points that first show them."""
    events: dict[int, Event] = {}
    for change in changes:
        amount = min(change.size * (1.0 if change.relative else cv), LARGEST_COMMON)
        amount *= float(np.exp(rng.normal(0.0, AMOUNT_SPREAD)))
        shift = min(amount, LARGEST) * change.better * sign
        start = int(np.searchsorted(orders, change.order))
        if change.undone is None:
            _add(events, orders.size, start, shift, "step")
            continue
        stop = int(np.searchsorted(orders, change.undone))
        if start < stop:
            _add(events, orders.size, start, shift, "regressed")
            _add(events, orders.size, stop, -shift, "reverted")
    return [events[index] for index in sorted(events)]


def _add(events: dict[int, Event], length: int, index: int, shift: float, kind: str) -> None:
    """Add a shift; shifts before the first point or after the last one are not measured."""
    if 0 < index < length:
        other = events.get(index)
        events[index] = Event(index, shift + (other.shift if other else 0.0), kind)


def path_of(events: list[Event], length: int) -> Floats:
    """Return the logarithm of the level, the sum of the shifts."""
    jumps = np.zeros(length)
    for event in events:
        jumps[event.index] += event.shift
    path: Floats = np.cumsum(jumps)
    return path


def slow_events(slow: Floats, cv: float) -> list[Event]:
    """Find where the slow path shifts by at least one CV between the means of 12 points."""
    n, w = slow.size, SLOW_WINDOW
    if n < 2 * w:
        return []
    sums = np.concatenate(([0.0], np.cumsum(slow)))
    means = (sums[w:] - sums[:-w]) / w
    shift = means[w:] - means[:-w]  # shift[k] compares the points before k + w with those after
    remaining = np.abs(shift) >= cv
    events = []
    while remaining.any():
        k = int(np.argmax(np.where(remaining, np.abs(shift), -1.0)))
        events.append(Event(_sharpest(slow, k + w), float(shift[k]), "slow"))
        remaining[max(0, k - w + 1) : k + w] = False
    return sorted(events, key=lambda event: event.index)


def _sharpest(slow: Floats, index: int) -> int:
    """Return the index of the largest change between neighbours within 4 points."""
    low = max(1, index - 4)
    jumps = np.abs(np.diff(slow[low - 1 : index + 5]))
    return low + int(np.argmax(jumps))
