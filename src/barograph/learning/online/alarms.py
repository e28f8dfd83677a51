"""Alarms of the second look at any threshold, against the marks of people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from barograph.detection.online.budget import WEIGHTS, log_weights
from barograph.detection.online.decision import StepKind
from barograph.detection.online.second_look import BEFORE, SecondLook, WindowScore, requests
from barograph.learning.online.truth import Truth, within_margin
from barograph.results.marks import MARGIN
from barograph.results.series import Flags, Floats, Ints

DELAYS = (0, 2, 5)
NEVER, ALWAYS = 40.0, 0.0  # bounds of every threshold of the second look, in nats
_HALVINGS = 13


class Raised(NamedTuple):
    """Alarms over all points of some histories, in order.

    Attributes:
        points: The points at which an alarm was raised.
        places: The change points that the alarms point at.
        scores: The scores of the alarms.
    """

    points: Ints
    places: Ints
    scores: Floats

    @classmethod
    def of(cls, flags: Flags) -> Raised:
        """Return alarms that point at the newest point, without scores."""
        points = np.flatnonzero(flags)
        return cls(points, points, np.full(points.size, np.nan))

    def of_judged(self, truth: Truth) -> Raised:
        """Return the alarms at points that a method is judged on."""
        judged = truth.judged[self.points]
        return Raised(self.points[judged], self.places[judged], self.scores[judged])


Alarms = Callable[[float], Raised]  # the alarms at a threshold; fewer as it rises


def every_alarm(score: Floats) -> Alarms:
    """Return the method that raises an alarm at every point whose score reaches the threshold."""
    return lambda threshold: Raised.of(score >= threshold)


class SecondLookAlarms:
    """The alarms of all windows, by threshold.

    Args:
        truth: The histories.
        surprises: By window, the surprise of each point as the newest one; -inf where there is
            none. All windows of the second look are needed.
        weights: The weight of each window that raises alarms.
    """

    def __init__(
        self,
        truth: Truth,
        surprises: Mapping[int, Floats],
        weights: Mapping[int, float] = WEIGHTS,
    ) -> None:
        self.truth, self._surprises, self._weights = truth, surprises, log_weights(weights)
        self._best = np.max([surprises[w] + bonus for w, bonus in self._weights.items()], axis=0)

    def __call__(self, threshold: float) -> Raised:
        """Run the second look over all histories."""
        series = pairwise(self.truth.offsets.tolist())
        alarms = [alarm for edges in series for alarm in self._of_series(*edges, threshold)]
        points, places, scores = zip(*alarms, strict=True) if alarms else ((), (), ())
        where = np.array(points, dtype=np.int64), np.array(places, dtype=np.int64)
        return Raised(*where, np.array(scores, dtype=np.float64))

    def _of_series(
        self, first: int, end: int, threshold: float
    ) -> Iterator[tuple[int, int, float]]:
        """Yield point, place and score of each alarm of the series from `first` to `end`."""
        rule = SecondLook(threshold, log_weights=self._weights)
        values = self.truth.values[first:end].tolist()
        for point, may_alarm in enumerate((self._best[first:end] >= threshold).tolist()):
            if not (may_alarm or rule.is_watching(point)):
                continue

            def sides(split: int, newest: int = point) -> tuple[list[float], list[float]]:
                return values[max(split - BEFORE, 0) : split], values[split : newest + 1]

            scores = [
                WindowScore(window, split, 0.0, surprise)
                for window, split in requests(rule.state, point)
                if np.isfinite(surprise := float(self._surprises[window][first + point]))
            ]
            step = rule.decide(point, scores, sides)
            if step is not None and step.kind is StepKind.CALLED:
                yield first + point, first + step.index, step.score


def false_by_place(truth: Truth, places: Ints) -> Flags:
    """Return which alarms are false: far from every mark, or the second for the same change.

    Args:
        truth: The histories.
        places: The change points that the alarms point at, in the order of the alarms.
    """
    false = ~truth.marked[places]
    clusters = np.flatnonzero(truth.share)
    if not clusters.size or not places.size:
        return false
    after = np.searchsorted(clusters, places).clip(1, max(clusters.size - 1, 1))
    nearby = np.stack([clusters[after - 1], clusters[np.minimum(after, clusters.size - 1)]])
    distance = np.abs(nearby - places)
    distance[truth.series[nearby] != truth.series[places]] = truth.values.size
    nearest = np.take_along_axis(nearby, distance.argmin(axis=0)[None], axis=0)[0]
    # Near marks whose points are left out there is no cluster to belong to.
    owned = np.flatnonzero(~false & (distance.min(axis=0) <= 2 * MARGIN))
    is_first = np.isin(np.arange(owned.size), np.unique(nearest[owned], return_index=True)[1])
    false[owned[~is_first]] = True
    return false


def are_real(truth: Truth, raised: Raised) -> tuple[Flags, Flags]:
    """Return which alarms are real, and of which this is known: not those near doubtful points."""
    false = false_by_place(truth, raised.places)
    real = ~false & within_margin(truth.offsets, truth.changes)[raised.places]
    return real, real | false


def known_within(truth: Truth, raised: Raised, delay: int) -> Flags:
    """Return for each change whether an alarm up to `delay` points after it points near it."""
    points, places = raised.points, raised.places
    known = np.zeros(truth.changes.size, dtype=np.bool_)
    for k, change in enumerate(truth.changes):
        near = (np.abs(places - change) <= MARGIN) & (points <= change + delay)
        known[k] = bool((truth.series[places[near]] == truth.series[change]).any())
    return known


def at_rate(
    truth: Truth,
    method: Alarms,
    rate: float,
    low: float = ALWAYS,
    high: float = NEVER,
    *,
    by_place: bool = True,
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
