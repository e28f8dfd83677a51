"""Calm stretches of real or simulated histories, to inject changes into."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from barograph.series import Floats
from barograph.studies.detector_benchmark.cases import noise

# Supremum of a Brownian bridge that one in a hundred independent stretches exceeds. Benchmarks are
# autocorrelated: what stays below is calm for certain.
CALM = 1.63


class Carrier(NamedTuple):
    """A stretch of a history in which nothing seems to change."""

    series: str
    values: Floats
    times: Floats | None = None


def calmest(
    history: Carrier, length: int, marked: Collection[int] = (), limit: float = CALM
) -> Carrier | None:
    """Return the calmest stretch of a history, or None where none is calm.

    No detector of the ground has a say in it: the measure is the largest deviation of the
    cumulative sum of ranks, which no spike can hide in or disturb.

    Args:
        history: a whole series.
        length: points of the stretch.
        marked: where people saw a change: no stretch may hold one.
        limit: the largest deviation that counts as calm.
    """
    best, least = None, limit
    for start in range(0, history.values.size - length + 1, max(1, length // 4)):
        stretch = slice(start, start + length)
        values = history.values[stretch]
        if any(start < mark < start + length for mark in marked) or noise(values) == 0.0:
            continue
        deviation = unrest(values)
        if deviation < least:
            times = None if history.times is None else history.times[stretch]
            best, least = Carrier(history.series, values, times), deviation
    return best


def unrest(values: Floats) -> float:
    """Return the largest deviation of the cumulative sum of ranks, scaled as a Brownian bridge."""
    ranks = rankdata(values)
    sd = ranks.std()
    if sd == 0.0:
        return 0.0
    return float(np.abs(np.cumsum(ranks - ranks.mean())).max() / (sd * np.sqrt(values.size)))


def carriers(histories: Iterable[Carrier], length: int, most: int) -> list[Carrier]:
    """Return the calmest stretch of each history that has one, `most` at the most."""
    found: list[Carrier] = []
    for history in histories:
        if len(found) == most:
            break
        calm = calmest(history, length)
        if calm is not None:
            found.append(calm)
    return found
