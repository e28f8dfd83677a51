"""Known changes put into real noise, and the marks of simulated people on them.

The nine scenarios are those of Fleming et al. 2023, 4.3. The changes go into the calmest segment of
each history. No compared detector chooses the segments: the measure is the largest deviation of the
cumulative sum of ranks, which a spike can neither hide in nor disturb.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import rankdata

from barograph.results.series import Floats
from barograph.simulator.people import noise
from barograph.studies.detector_benchmark.cases import Case, Points

# The supremum of a Brownian bridge that 1 % of independent segments exceed. Benchmark results are
# autocorrelated, which makes the limit stricter for them.
CALM = 1.63

Kind = Literal["mean", "variance", "both"]


class Segment(NamedTuple):
    """A history, or a part of it."""

    series: str
    values: Floats
    times: Floats | None = None


KINDS: tuple[Kind, ...] = ("mean", "variance", "both")
# The kind and the number of changes of each scenario.
SCENARIOS: dict[str, tuple[Kind, int]] = {
    f"{3 * row + column + 1}: {kind}, {changes} point{'s' * (changes > 1)}": (kind, changes)
    for row, changes in enumerate((1, 2, 4))
    for column, kind in enumerate(KINDS)
}
STEPS = (2.0, 8.0)  # sizes of injected steps, in units of the noise
FACTORS = (2.0, 4.0)  # factors of the deviations in injected changes of variance
SHORTEST = 5  # points of a group


def calmest_segment(history: Segment, length: int) -> Segment | None:
    """Return the calmest segment of a history with `length` points, or None if no one is calm."""
    calmest, smallest = None, CALM
    for start in range(0, history.values.size - length + 1, max(1, length // 4)):
        part = slice(start, start + length)
        values = history.values[part]
        if noise(values) == 0.0:
            continue
        deviation = rank_deviation(values)
        if deviation < smallest:
            times = None if history.times is None else history.times[part]
            calmest, smallest = Segment(history.series, values, times), deviation
    return calmest


def rank_deviation(values: Floats) -> float:
    """Return the largest deviation of the cumulative sum of ranks, scaled as a Brownian bridge."""
    ranks = rankdata(values)
    sd = ranks.std()
    if sd == 0.0:
        return 0.0
    return float(np.abs(np.cumsum(ranks - ranks.mean())).max() / (sd * np.sqrt(values.size)))


def calm_segments(histories: Iterable[Segment], length: int, limit: int) -> list[Segment]:
    """Return the calmest segment of each history that has one, at most `limit` in all."""
    segments: list[Segment] = []
    for history in histories:
        if len(segments) == limit:
            break
        segment = calmest_segment(history, length)
        if segment is not None:
            segments.append(segment)
    return segments


def injected(segments: Sequence[Segment], seed: int) -> Iterator[Case]:
    """Yield every scenario on every segment, each with its own changes."""
    for number, segment in enumerate(segments):
        for row, (scenario, (kind, changes)) in enumerate(SCENARIOS.items()):
            generator = np.random.default_rng((seed, number, row))
            points = draw_points(segment.values.size, changes, generator)
            values = changed(segment.values, points, kind, generator)
            yield Case(segment.series, scenario, values, points, segment.times)


def draw_points(length: int, changes: int, generator: np.random.Generator) -> Points:
    """Draw change points that leave groups of unequal length, none shorter than five points."""
    shares = generator.uniform(0.5, 1.5, changes + 1)
    free = length - SHORTEST * (changes + 1)
    groups = SHORTEST + np.floor(free * shares / shares.sum()).astype(np.int64)
    return tuple(int(point) for point in np.cumsum(groups)[:-1])


def changed(values: Floats, points: Points, kind: Kind, generator: np.random.Generator) -> Floats:
    """Change every second group, as latency that is switched on and off does."""
    level, unit = np.median(values), noise(values)
    result = values.copy()
    side = generator.choice([-1.0, 1.0])
    edges = [*points, values.size]
    for start, end in list(pairwise(edges))[::2]:
        step = side * generator.uniform(*STEPS) * unit
        factor = generator.uniform(*FACTORS)
        group = result[start:end]
        if kind != "mean":
            group += (factor - 1.0) * (group - level)
        if kind != "variance":
            group += step
    return result
