"""Changes without a step: drifts of the level, and lasting changes of the noise.

Both are found in the values alone, beside the change points of the detectors. A change of noise is
searched like a level, by binary segmentation, in scores of the ranks of the distances of the
results from the medians around them. So neither a step nor a spike is one, whatever the noise is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from barograph.detection.drift import autocorrelation, find_drifts, running_medians
from barograph.results.series import Floats, as_floats, require_finite

WINDOW = 15  # results whose median is the level of a result
FIRST, SHORTEST = 30, 20  # results before the first change of noise, and of any noise after it
LARGEST_SCORE = 5.0  # beyond it, a result is no more evidence
LEAST_Z = 3.7  # difference of the mean scores over its standard error
LEAST_RATIO = 1.9  # of the spreads before and after a change of noise
LEAST_HALF = 1.3  # of the spread in each half of the noisier side, over that of the other
LEAST_MOVES = 1.5  # ratio of the median moves between neighbours, which a wandering level has not
LEAST_SPREAD = 0.005  # of the level: less noise on both sides does not matter
NEAR = 100  # results before a change of noise that its size is measured with
QUARTILE_OF_GAUSS = 1.1503493803760083  # three quarters of normal results are nearer
RECENT = 500  # newest results that a job looks at
TINY = 1e-300  # instead of no noise
LATELY = 60  # newest results among which a change is news
# Results before the judged ones, without which a change is searched again: it may be known.
EARLIER = (*range(10), 14, 19, 29, 39)


class SlowKind(StrEnum):
    """What changes without a step."""

    DRIFT = "drift"
    NOISE = "noise"


@dataclass(frozen=True, slots=True)
class SlowChange:
    """A drift, or a lasting change of noise.

    Attributes:
        kind: What changes.
        begin: 0-based index of the first result of the change.
        end: Index after its last result: of a drift where the new level is reached, of noise where
            it changes again; the number of results if it lasts.
        before: The level before a drift, or the standard deviation of the noise before.
        after: The same after it.
    """

    kind: SlowKind
    begin: int
    end: int
    before: float
    after: float

    @property
    def percent(self) -> float:
        """The change in percent of the level or noise before; infinite from 0."""
        if self.before:
            return 100.0 * (self.after - self.before) / abs(self.before)
        return math.copysign(math.inf, self.after)


def slow_changes(values: Any) -> list[SlowChange]:
    """Find the drifts and the lasting changes of noise in one series.

    Args:
        values: The results, oldest first: a list or an array of finite numbers.

    Returns:
        The drifts, then the changes of noise, each oldest first.

    Raises:
        DataError: The values are not a list of numbers, or one is not finite.

    Example:
        >>> noise = np.random.default_rng(0).normal(0.0, 1.0, 240)
        >>> noise[160:] *= 3.0
        >>> [change] = slow_changes(100.0 + noise)
        >>> change.kind.value, abs(change.begin - 160) < 5, change.end
        ('noise', True, 240)
    """
    numbers = as_floats(values)
    require_finite(numbers)
    scale = float(np.abs(numbers).max(initial=0.0))
    if not scale:
        return []
    scaled = numbers / scale  # squares neither overflow nor vanish
    drifts = [(SlowKind.DRIFT, *drift) for drift in find_drifts(scaled)]
    noises = [(SlowKind.NOISE, *change) for change in _noise_changes(scaled)]
    return [
        SlowChange(kind, begin, end, scale * before, scale * after)
        for kind, begin, end, before, after in (*drifts, *noises)
    ]


def newly_found(values: Floats, count: int) -> list[SlowChange]:
    """Return the slow changes that are found with the newest results of a series, for a job.

    A change counts that was not found at any of the results just before, so that each is reported
    once: a drift that ends, or a change of noise that begins, among the newest results.

    Args:
        values: The finite results; the newest 500 count.
        count: Number of the newest results that the job judges.
    """
    recent = values[-RECENT:]
    size, first = recent.size, values.size - recent.size
    fresh = [
        change
        for change in slow_changes(recent)
        if size - count - LATELY < (change.end if change.kind is SlowKind.DRIFT else change.begin)
    ]
    for back in EARLIER:
        if fresh and back + count <= size:
            known = slow_changes(recent[: size - count - back])
            fresh = [c for c in fresh if not any(_is_same(c, other) for other in known)]
    return [replace(c, begin=first + c.begin, end=first + c.end) for c in fresh]


def _is_same(change: SlowChange, other: SlowChange) -> bool:
    """Return whether two changes that were found with different results are one."""
    rises = change.after > change.before, other.after > other.before
    if change.kind is not other.kind or rises[0] is not rises[1]:
        return False
    if change.kind is SlowKind.NOISE:
        return abs(change.begin - other.begin) <= SHORTEST
    return change.begin < other.end and other.begin < change.end


def _noise_changes(values: Floats) -> list[tuple[int, int, float, float]]:
    """Return begin and end of each lasting change of noise, and the deviations before and after."""
    size = values.size
    if size < FIRST + SHORTEST:
        return []
    medians = running_medians(values, WINDOW)
    edges = np.full(WINDOW - 1, medians[0]), np.full(WINDOW - 1, medians[-1])
    padded = np.concatenate([edges[0], medians, edges[1]])
    # The medians up to a result, around it and from it on: beside a step one of them is its level.
    sides = [padded[k : k + size] for k in (0, WINDOW // 2, WINDOW - 1)]
    distances = np.abs(values - sides[0])
    for side in sides[1:]:
        np.minimum(distances, np.abs(values - side), out=distances)
    order = np.argsort(distances)
    ordered, ranks = distances[order], np.empty(size)  # sorted keys are found faster
    ranks[order] = 0.5 * (ordered.searchsorted(ordered) + ordered.searchsorted(ordered, "right"))
    scores = np.minimum(-np.log1p(-(ranks + 0.5) / (size + 1)), LARGEST_SCORE)
    places = sorted(_divided(scores, 0, size))
    if not places:
        return []
    noises = _Noises(np.abs(sides[1]), np.abs(values - sides[1]), np.abs(np.diff(values)))
    while places:
        ends = [0, *places, size]
        sizes = [noises.size(*ends[k : k + 3]) for k in range(len(places))]
        least = min(range(len(places)), key=lambda k: sizes[k][2])
        if sizes[least][2] >= 1.0:
            triples = zip(places, ends[2:], sizes, strict=True)
            return [(begin, end, before, after) for begin, end, (before, after, _) in triples]
        del places[least]
    return []


def _divided(scores: Floats, start: int, end: int) -> list[int]:
    """Return where the mean of the scores changes, by binary segmentation."""
    least = SHORTEST if start else FIRST
    count = end - start
    if count < least + SHORTEST:
        return []
    part = scores[start:end]
    before = np.arange(least, count - SHORTEST + 1)
    sums = np.cumsum(part)
    total, left = float(sums[-1]), sums[before - 1]
    weights = np.sqrt(before * (count - before) / count)
    gains = np.abs(left / before - (total - left) / (count - before)) * weights
    best = int(np.argmax(gains))
    split = int(before[best])
    rest = part - np.where(
        np.arange(count) < split, left[best] / split, (total - left[best]) / (count - split)
    )
    squares = float(rest @ rest)
    if not squares > 0.0:
        return []
    # Noise that comes in clusters has fewer independent results.
    lag = autocorrelation(rest, squares)
    error = math.sqrt(squares / (count - 2) * (1.0 + lag) / (1.0 - lag))
    if gains[best] < LEAST_Z * error:
        return []
    place = start + split
    return [*_divided(scores, start, place), place, *_divided(scores, place, end)]


class _Noises(NamedTuple):
    """What the noise of stretches of a series is measured with."""

    levels: Floats
    distances: Floats
    moves: Floats

    def size(self, start: int, place: int, end: int) -> tuple[float, float, float]:
        """Return the deviations on both sides of a place, and how large their change is.

        The last is 1 for the least change that counts.
        """
        start = max(start, place - NEAR)
        before, after = (_spread(self.distances[a:b]) for a, b in ((start, place), (place, end)))
        low, high = min(before, after), max(before, after)
        rises = after > before
        first, last = (place, end) if rises else (start, place)
        middle = (first + last) // 2
        half = min(_spread(self.distances[first:middle]), _spread(self.distances[middle:last]))
        levels = np.median(self.levels[start:place]), np.median(self.levels[place:end])
        moves = np.median(self.moves[start : place - 1]), np.median(self.moves[place : end - 1])
        # Noise that grows with the level is the same noise.
        relative = before * levels[1], after * levels[0]
        strength = min(
            high / max(low, TINY) / LEAST_RATIO,
            relative[rises] / max(relative[not rises], TINY) / LEAST_RATIO,
            half / max(low, TINY) / LEAST_HALF,
            moves[rises] / max(moves[not rises], TINY) / LEAST_MOVES,
            high / max(*levels, TINY) / LEAST_SPREAD,
        )
        return before, after, float(strength)


def _spread(distances: Floats) -> float:
    """Return the standard deviation of normal results with these distances from their level."""
    return float(np.sort(distances)[3 * distances.size // 4]) / QUARTILE_OF_GAUSS
