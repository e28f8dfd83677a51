"""Alarms against the marks of people: which are false, and which changes they point at."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from barograph.learning.online.truth import Truth
from barograph.results.marks import MARGIN
from barograph.results.series import Flags, Floats, Ints

DELAYS = (0, 2, 5)
_HALVINGS = 24


class Raised(NamedTuple):
    """Alarms over all points of some histories, in order.

    Attributes:
        points: The points at which an alarm was raised.
        places: The change points that the alarms point at.
    """

    points: Ints
    places: Ints

    @classmethod
    def of(cls, flags: Flags) -> Raised:
        """Return alarms that point at the newest point."""
        points = np.flatnonzero(flags)
        return cls(points, points)

    def of_judged(self, truth: Truth) -> Raised:
        """Return the alarms at points that a method is judged on."""
        judged = truth.judged[self.points]
        return Raised(self.points[judged], self.places[judged])


Alarms = Callable[[float], Raised]  # the alarms at a threshold; fewer as it rises


def false_by_place(truth: Truth, places: Ints) -> Flags:
    """Return which alarms are false: far from every mark, or the second for the same change.

    Args:
        truth: The histories.
        places: The change points that the alarms point at, in the order of the alarms.
    """
    false = ~truth.marked[places]
    clusters = np.sort(np.concatenate([truth.changes, truth.disputed]))
    if not clusters.size or not places.size:
        return false
    after = np.searchsorted(clusters, places).clip(1, max(clusters.size - 1, 1))
    nearby = np.stack([clusters[after - 1], clusters[np.minimum(after, clusters.size - 1)]])
    distance = np.abs(nearby - places)
    distance[truth.series[nearby] != truth.series[places]] = truth.values.size
    nearest = np.take_along_axis(nearby, distance.argmin(axis=0)[None], axis=0)[0]
    # Near marks whose points are left out there is no cluster to belong to.
    owned = np.flatnonzero(~false & (distance.min(axis=0) <= 2 * MARGIN))
    _, first = np.unique(nearest[owned], return_index=True)
    twin = np.ones(owned.size, dtype=np.bool_)
    twin[first] = False
    false[owned[twin]] = True
    return false


def known_within(truth: Truth, raised: Raised, delay: int) -> Flags:
    """Return for each change whether an alarm up to `delay` points after it points near it."""
    by_place = np.argsort(raised.places, kind="stable")
    points, places = raised.points[by_place], raised.places[by_place]
    low = np.searchsorted(places, truth.changes - MARGIN)
    high = np.searchsorted(places, truth.changes + MARGIN, "right")
    known = np.zeros(truth.changes.size, dtype=np.bool_)
    for k, (first, end, change) in enumerate(zip(low, high, truth.changes, strict=True)):
        same = truth.series[places[first:end]] == truth.series[change]
        known[k] = bool((same & (points[first:end] <= change + delay)).any())
    return known


def at_rate(
    truth: Truth, method: Alarms, rate: float, low: float, high: float, *, by_place: bool = True
) -> float:
    """Return the lowest threshold with at most `rate` false alarms in a thousand points.

    Args:
        truth: The histories.
        method: Returns the alarms of a threshold.
        rate: False alarms in a thousand points.
        low: A threshold with too many alarms.
        high: A threshold with few enough.
        by_place: Whether false alarms are counted by the places that they point at.
    """
    allowed = rate * float(truth.judged.sum()) / 1000.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        raised = method(middle).of_judged(truth)
        false = false_by_place(truth, raised.places) if by_place else ~truth.marked[raised.points]
        if float(false.sum()) > allowed:
            low = middle
        else:
            high = middle
    return high


def every_alarm(score: Floats) -> Alarms:
    """Return the method that raises an alarm at every point whose score reaches the threshold."""
    return lambda threshold: Raised.of(score >= threshold)
