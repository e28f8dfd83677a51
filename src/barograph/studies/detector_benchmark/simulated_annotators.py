"""Simulated people who mark injected changes, by the rule of the simulator."""

from collections.abc import Sequence

import numpy as np

from barograph.series import Floats
from barograph.sources.simulator.people import (
    NEIGHBOURHOOD,
    STRAY_SHARE,
    VARIED,
    mark_probability,
    step_and_noise,
)
from barograph.studies.detector_benchmark.cases import Opinion, Points

PEOPLE = 5
OFFSETS = (0, 0, 1, -1, 2, -2)  # of a mark from its change: a third of the marks are in place


def simulated_opinions(values: Floats, truth: Points, key: Sequence[int]) -> tuple[Opinion, ...]:
    """Return the marks of several people in a series, each compared with the truth.

    Args:
        values: The series.
        truth: Its change points.
        key: Seeds the people: their leniency differs by person and by series.
    """
    generators = [np.random.default_rng([*key, person]) for person in range(PEOPLE)]
    drawn = np.array([generator.standard_normal() for generator in generators])
    leniency = VARIED.leniency + VARIED.leniency_spread * drawn
    chances = mark_chances(values, truth, leniency)
    return tuple(
        Opinion(_marks(values.size, truth, row, generator), truth)
        for row, generator in zip(chances, generators, strict=True)
    )


def mark_chances(values: Floats, truth: Points, leniency: Floats) -> Floats:
    """Return the probability that each person (rows) marks each change (columns).

    The simulator compares changes of known size, of which small ones are no rivals, and knows the
    level. Here every neighbouring change ends the comparison, and every size is relevant.
    """
    edges = [0, *truth, values.size]
    low, high = np.quantile(values, (0.005, 0.995))
    chances = np.zeros((leniency.size, len(truth)))
    for k, (before, point, after) in enumerate(zip(edges, truth, edges[2:], strict=False)):
        start, stop = max(before, point - NEIGHBOURHOOD), min(after, point + NEIGHBOURHOOD)
        size, noise = step_and_noise(values, start, point, stop)
        duration = min(point - before, after - point)
        chances[:, k] = mark_probability(size, noise, high - low, duration, leniency)
    return chances


def _marks(length: int, truth: Points, chances: Floats, generator: np.random.Generator) -> Points:
    marks = set()
    for point, chance in zip(truth, chances, strict=True):
        if generator.random() < chance:
            marks.add(point + int(generator.choice(OFFSETS)))
    if generator.random() < STRAY_SHARE:
        marks.add(int(generator.integers(1, length)))
    return tuple(sorted(mark for mark in marks if 0 < mark < length))
