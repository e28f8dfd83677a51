"""What several people see in one plot: where each of them would mark a change.

A person marks a shift that is large beside the noise around it and beside the whole plot, and
that lasts; people differ in how readily they do, and now and then mark something by mistake.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from barograph.series import Floats, Ints
from barograph.sources.simulator.events import Event

NEARBY = 40  # points on either side that a person compares
RIVAL = 0.6  # a neighbouring shift of this share of the shift's size ends the comparison
HABIT_SPREAD = 0.8
STRAY_SHARE = 0.05
MARGIN = 5


@dataclass(frozen=True, slots=True)
class Crowd:
    """The marks of several people on one series, and how likely each event was to be marked."""

    marks: tuple[Ints, ...]
    chances: Floats  # of the events, the mean over the people

    def votes(self, index: int, margin: int = MARGIN) -> int:
        """Count the people who marked a change within `margin` points of `index`."""
        return sum(bool(np.any(np.abs(mark - index) <= margin)) for mark in self.marks)


def survey(values: Floats, events: Sequence[Event], people: int, rng: np.random.Generator) -> Crowd:
    """Let `people` look at the plot of a series in which `events` happened."""
    habits = rng.normal(0.0, HABIT_SPREAD, people)
    chances = mark_chances(values, events, habits)
    marked = rng.random(chances.shape) < chances
    places = np.array([event.index for event in events], dtype=np.int64)
    # Half of the marks are in place, a quarter off by one and a quarter off by two.
    off = rng.choice((0, 0, 1, 2), chances.shape) * rng.choice((-1, 1), chances.shape)
    strays = rng.random(people) < STRAY_SHARE
    stray_places = rng.integers(1, max(2, values.size), people)
    marks = []
    for person in range(people):
        own = (places + off[person])[marked[person]]
        if strays[person]:
            own = np.append(own, stray_places[person])
        marks.append(np.unique(np.clip(own, 1, values.size - 1)).astype(np.int64))
    return Crowd(tuple(marks), chances.mean(axis=0))


def mark_chances(values: Floats, events: Sequence[Event], habits: Floats) -> Floats:
    """Return how likely each person (rows) is to mark each event (columns)."""
    chances = np.zeros((habits.size, len(events)))
    low, high = np.quantile(values, (0.005, 0.995))
    for k, event in enumerate(events):
        before, after = surroundings(events, k, values.size)
        size, noise = contrast(values, before, event.index, after)
        lasts = next_rival(events, k, values.size) - event.index
        if size == 0.0:
            continue
        over_noise = 4.0 * (_log_ratio(size, noise) + habits)
        over_range = 4.0 * (_log_ratio(size, 0.08 * (high - low)) + habits)
        chances[:, k] = (
            logistic(over_noise) * logistic(over_range) * logistic(2.5 * np.log(lasts / 5.0))
        )
    return chances


def surroundings(events: Sequence[Event], k: int, length: int) -> tuple[int, int]:
    """Return where the stretches on both sides of event `k` begin and end."""
    index = events[k].index
    before = max([0, index - NEARBY, *(e.index for e in _rivals(events, k) if e.index < index)])
    return before, min(length, index + NEARBY, next_rival(events, k, length))


def next_rival(events: Sequence[Event], k: int, length: int) -> int:
    """Return the place of the next shift that is not small beside event `k`, or the end."""
    index = events[k].index
    return min([length, *(e.index for e in _rivals(events, k) if e.index > index)])


def _rivals(events: Sequence[Event], k: int) -> list[Event]:
    least = RIVAL * abs(events[k].shift)
    return [event for event in events if abs(event.shift) >= least]


def contrast(values: Floats, start: int, split: int, stop: int) -> tuple[float, float]:
    """Return the step between two stretches by their medians, and the noise around these."""
    before, after = values[start:split], values[split:stop]
    left, right = np.median(before), np.median(after)
    residuals = np.concatenate((before - left, after - right))
    spread = 1.4826 * np.median(np.abs(residuals - np.median(residuals)))
    return float(abs(right - left)), float(max(spread, 0.5 * residuals.std()))


def _log_ratio(size: float, scale: float) -> float:
    return float(np.log(size / scale)) if scale > 0.0 else 50.0


def logistic(x: Floats | float) -> Floats:
    """Return 1 / (1 + exp(-x))."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -50.0, 50.0))), dtype=np.float64)
