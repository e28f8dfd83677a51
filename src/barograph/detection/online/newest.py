"""How far the newest result departs from what is usual, and what reruns of its commit settle.

A spike and a step look alike at the newest point. So the rule asks how rarely a quiet point gets
as far beyond the last results, in this series and in others, and a rerun tells the two apart.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from barograph.detection.numerics import insert_sorted, remove_sorted
from barograph.detection.online.views import compared
from barograph.results.repeats import MAD_TO_SD
from barograph.results.series import Floats, Ints
from barograph.results.sizes import median_of_sorted
from barograph.runtime.compiled import kernel

COMPARED = 80  # results whose range and median the newest is compared with
# Spikes come in bursts, and a spike hides those that follow it from a long range. So excursions of
# the series are compared by their distance beyond fewer results, each beyond those before it.
RECENT = 40
FEWEST = 5  # with fewer results before it, no result departs
SETTLED = 12  # earlier results without which it is not known how far the next one went
# Noise below this share of the level is taken for this share: a series that repeats one value
# would otherwise make every other value a departure without end.
LEAST_NOISE = 0.01
# The share of quiet points that lie at least N noise units beyond the last 80 results, on
# average over two kinds of real histories: `benchmarks/newest_commit.py --rates` measures it.
BEYOND = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
SHARES = (0.025, 0.015, 0.011, 0.0069, 0.0044, 0.0029, 0.0019, 0.0012, 0.00053, 0.00024)
# The series' own points count against these shares as if there were this many points of others.
# An earlier excursion that went a part r of the way counts r * r: the next may well go further.
OTHERS = 400
# The mean of both shares is that many times the share of quiet points that get as far, for scores
# from 4 to 8: `benchmarks/newest_commit.py --rates` measures it.
OVERCOUNT = 1.4
# Of quiet points that go as many noise units, few go a large part of the level. So the score grows
# by this much as that part grows e-fold, from the thousandth to the whole of the level.
BY_SIZE = 0.15
USUAL_SIZE = 0.05  # the part of the level at which nothing is added
LEAST_SIZE, MOST_SIZE = 0.001, 1.0
FOLLOWERS = 3  # points after an excursion that say whether the series came back
FARTHEST = 1e6  # noise units; makes the score finite
# A first run with at least this score is a suspect: nominally 3.3 quiet points in 1,000. It is the
# lowest score, to a tenth, with at most 5.5 false answers in 1,000 in each kind of history that it
# was chosen on: 6 are allowed, and other histories have more.
SUSPECT = 5.7
# What people mark is often smaller than the range of the last results, and the model of the newest
# point finds more of it. Its surprise counts as a score after this is added, or what its card says.
MODEL_LEAD = -0.6
# A step that reruns confirm is a change, whatever the model says: 2 to 4 of 100 spikes in real
# histories are confirmed by one to three reruns.
CONFIRMED_BY_RERUNS = 0.98
# The value of several runs departs only if it is this many of their standard errors away: two runs
# that contradict each other are noise.
CLEAR = 2.0

_KNOTS, _LOG_SHARES = np.array(BEYOND), np.log(SHARES)


class Departure(NamedTuple):
    """How far a result lies beyond those before it; `str()` explains it in a sentence.

    Attributes:
        beyond: Distance beyond the range of the last 80 results, in noise units; 0 within it.
        level: The median of those results.
        known: The number of those results, at most 80.
        earlier: The number of earlier results of which it is known how far they went.
        as_far: How many of those went at least as far and came back, each measured beyond the 40
            results before it.
        surprise: -ln of how often a quiet point gets as far, in nats, and more the larger the part
            of the level that it goes; 0 within the range.
    """

    beyond: float
    level: float
    known: int
    earlier: int
    as_far: int
    surprise: float

    def __str__(self) -> str:
        if self.known < FEWEST:
            return f"only {self.known} earlier results: at least {FEWEST} are needed"
        if self.beyond == 0.0:
            return f"within the range of the last {self.known} results"
        least = "at least " if self.beyond >= FARTHEST else ""
        text = f"{least}{self.beyond:.1f} noise units beyond the last {self.known} results"
        if self.earlier == 0:
            return text
        count = "none" if self.as_far == 0 else str(self.as_far)
        return f"{text}; {count} of {self.earlier} earlier results went as far and came back"


class Settled(NamedTuple):
    """What the runs of one commit amount to.

    Attributes:
        value: The value that counts for the commit.
        is_step: Whether the first run departed, and the others confirm it.
        is_clear: Whether the value differs from the level before by more than the runs differ.
        advised: How many further runs are advised: 1 after a first run that is a suspect, and 2
            more if the second lies between a quarter and three quarters of the way to it.
    """

    value: float
    is_step: bool
    is_clear: bool
    advised: int


def departure(before: Floats, value: float) -> Departure:
    """Measure how far the newest result departs from the results before it.

    Args:
        before: The results before it that are kept, oldest first; see `views.compared`.
        value: The newest result.

    Example:
        >>> departed = departure(np.array([10.0, 11.0] * 10), 16.0)
        >>> str(departed).split("; ")[0]
        '6.7 noise units beyond the last 20 results'
    """
    before = compared(before)
    level = _middle_of(before[-COMPARED:]) if before.size else math.nan
    beyond, known, earlier, as_far, surprise = _describe(np.append(before, value), 0, before.size)
    return Departure(float(beyond), level, known, earlier, as_far, float(surprise))


def departures(values: Floats, first: Ints, newest: Ints) -> tuple[Floats, Floats]:
    """Return `beyond` and `surprise` of many results, as in `Departure`.

    Args:
        values: The values of all series, concatenated.
        first: For each result, the position of the oldest value that it is compared with.
        newest: The position of each result.
    """
    beyond, surprise = np.empty((2, newest.size))
    _describe_all(values, first, newest, beyond, surprise)
    return beyond, surprise


def settle(before: Floats, runs: Floats) -> Settled:
    """Settle the runs of one commit; the result depends on earlier values and the runs alone.

    If the first run departs, it was chosen for being extreme, so the others decide: their median
    counts, and it is a step if that median went more than half of the way. Otherwise the median of
    all runs counts.

    Args:
        before: The settled values before the commit that are kept, oldest first.
        runs: The results of the commit in the order of their runs, at least one.
    """
    first = float(runs[0])
    if runs.size == 1:
        return Settled(first, is_step=False, is_clear=True, advised=1)
    departed = departure(before, first)
    has_departed = departed.surprise >= SUSPECT
    counted = runs[1:] if has_departed else runs
    value = _middle_of(counted)
    is_step = has_departed and _way(departed.level, first, value) > 0.5
    spread = MAD_TO_SD * _middle_of(np.abs(counted - value))
    is_clear = abs(value - departed.level) > CLEAR * spread / math.sqrt(counted.size)
    is_between = has_departed and 0.25 <= _way(departed.level, first, float(runs[1])) <= 0.75
    advised = 2 if runs.size == 2 and is_between else 0
    return Settled(value, is_step, is_clear, advised)


def _way(level: float, first: float, value: float) -> float:
    """Return which part of the way from a level to the first run a value has gone."""
    return (value - level) / (first - level)


@kernel
def _describe_all(
    values: Floats, first: Ints, newest: Ints, beyond: Floats, surprise: Floats
) -> None:
    """Fill how far each newest value departs from those since the first of its series."""
    for i in range(newest.size):
        beyond[i], _, _, _, surprise[i] = _describe(values, first[i], newest[i])


@kernel
def _describe(values: Floats, first: int, newest: int) -> tuple[float, int, int, int, float]:
    """Return how far `values[newest]` departs from `values[first:newest]`: a `Departure`'s fields.

    These are `beyond`, `known`, `earlier`, `as_far` and `surprise`.
    """
    known = min(newest - first, COMPARED)
    last, value = values[newest - known : newest], values[newest]
    if known < FEWEST or last.min() <= value <= last.max():
        return 0.0, known, 0, 0, 0.0
    ordered = _ordered(last)
    beyond = _distance(ordered, value)
    earlier = max(newest - FOLLOWERS - first - SETTLED, 0)
    as_far, alike = _count(values, first, newest)
    share = min(_share(beyond) * (COMPARED + 1) / (known + 1), 1.0)
    rate = (alike + OTHERS * share) / (earlier + OTHERS) / OVERCOUNT
    size = _part_of_level(ordered, value) / USUAL_SIZE
    return beyond, known, earlier, as_far, max(BY_SIZE * math.log(size) - math.log(rate), 0.0)


@kernel
def _count(values: Floats, first: int, newest: int) -> tuple[int, float]:
    """Return how many earlier excursions went as far, and the sum that counts shorter ones, too."""
    beyond = _distance(_ordered(values[max(first, newest - RECENT) : newest]), values[newest])
    last = np.empty(RECENT + 1)
    size = as_far = 0
    alike = 0.0
    for k in range(first, newest - FOLLOWERS):
        if k >= first + SETTLED and not last[0] <= values[k] <= last[size - 1]:
            level = median_of_sorted(last[:size])
            after = _middle(values[k + 1], values[k + 2], values[k + 3])
            if (after - level) / (values[k] - level) < 0.5:
                part = _distance(last[:size], values[k]) / beyond
                as_far += int(part >= 1.0)
                alike += min(part * part, 1.0)
        size = insert_sorted(last, size, values[k])
        if size > RECENT:
            size = remove_sorted(last, size, values[k - RECENT])
    return as_far, alike


@kernel
def _distance(last: Floats, value: float) -> float:
    """Return how far a value lies beyond sorted ones, in their noise."""
    level = median_of_sorted(last)
    noise = max(
        MAD_TO_SD * median_of_sorted(_ordered(np.abs(last - level))), LEAST_NOISE * abs(level)
    )
    if last.size < COMPARED:
        noise = max(noise, 0.5 * _smallest_step(last))
    distance = max(value - last[-1], last[0] - value)
    return distance / noise if distance < FARTHEST * noise else FARTHEST


@kernel
def _part_of_level(last: Floats, value: float) -> float:
    """Return how far a value lies beyond sorted ones, as a part of their level."""
    distance, level = max(value - last[-1], last[0] - value), abs(median_of_sorted(last))
    if distance >= MOST_SIZE * level:
        return MOST_SIZE
    part: float = max(distance / level, LEAST_SIZE)
    return part


@kernel
def _share(beyond: float) -> float:
    """Interpolate the share of quiet points that lie as far beyond; it falls to 0 without end."""
    k = 1
    while k < _KNOTS.size - 1 and beyond > _KNOTS[k]:
        k += 1
    low, high = math.log(_KNOTS[k - 1] + 0.25), math.log(_KNOTS[k] + 0.25)
    part = (math.log(beyond + 0.25) - low) / (high - low)
    share: float = math.exp(_LOG_SHARES[k - 1] + part * (_LOG_SHARES[k] - _LOG_SHARES[k - 1]))
    return share


@kernel
def _ordered(values: Floats) -> Floats:
    ordered = np.empty(values.size)
    for k in range(values.size):
        insert_sorted(ordered, k, values[k])
    return ordered


@kernel
def _middle_of(values: Floats) -> float:
    """Return the median; of a few values twenty times as fast as NumPy's."""
    return median_of_sorted(_ordered(values))


@kernel
def _middle(a: float, b: float, c: float) -> float:
    return max(min(a, b), min(max(a, b), c))


@kernel
def _smallest_step(ordered: Floats) -> float:
    """Return the smallest difference between different values, 0 if all are equal."""
    smallest = 0.0
    for k in range(1, ordered.size):
        step = ordered[k] - ordered[k - 1]
        if step > 0.0 and (smallest == 0.0 or step < smallest):
            smallest = step
    return smallest
