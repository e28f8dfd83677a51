"""Known changes put into real noise: the nine scenarios of Fleming et al. 2023, 4.3."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from barograph.series import Floats
from barograph.studies.detector_benchmark.calm_segments import Carrier
from barograph.studies.detector_benchmark.cases import Case, Points, noise
from barograph.studies.detector_benchmark.simulated_annotators import onlookers

Kind = Literal["mean", "variance", "both"]


class Scenario(NamedTuple):
    """What changes, and how often."""

    name: str
    kind: Kind
    changes: int


KINDS: tuple[Kind, ...] = ("mean", "variance", "both")
SCENARIOS = tuple(
    Scenario(f"{3 * row + column + 1}: {kind}, {changes} point{'s' * (changes > 1)}", kind, changes)
    for row, changes in enumerate((1, 2, 4))
    for column, kind in enumerate(KINDS)
)
STEPS = (2.0, 8.0)  # sizes of injected steps, in units of the noise
FACTORS = (2.0, 4.0)  # what injected changes of variance multiply the deviations by
SHORTEST = 5  # points of a group


def injected(
    carriers: Sequence[Carrier], seed: int, scenarios: Sequence[Scenario] = SCENARIOS
) -> Iterator[Case]:
    """Yield every scenario on every carrier, with changes of its own."""
    for number, carrier in enumerate(carriers):
        for place, scenario in enumerate(scenarios):
            key = (seed, number, place)
            generator = np.random.default_rng(key)
            points = places(carrier.values.size, scenario.changes, generator)
            values = changed(carrier.values, points, scenario.kind, generator)
            yield _case(carrier, scenario.name, values, points, key)


def reverted(carriers: Sequence[Carrier], lengths: Sequence[int], seed: int) -> Iterator[Case]:
    """Yield changes of the mean that are reverted after a few points (Fleming et al., 4.1)."""
    for number, carrier in enumerate(carriers):
        for lasting in lengths:
            key = (seed, number, lasting)
            generator = np.random.default_rng(key)
            size = carrier.values.size
            first = int(generator.integers(size // 4, size - size // 4 - lasting + 1))
            points = (first, first + lasting)
            values = changed(carrier.values, points, "mean", generator)
            name = f"reverted after {lasting}"
            yield _case(carrier, name, values, points, key)


def places(length: int, changes: int, generator: np.random.Generator) -> Points:
    """Draw change points that leave groups of unequal length, none shorter than five points."""
    shares = generator.uniform(0.5, 1.5, changes + 1)
    free = length - SHORTEST * (changes + 1)
    groups = SHORTEST + np.floor(free * shares / shares.sum()).astype(np.int64)
    return tuple(int(point) for point in np.cumsum(groups)[:-1])


def changed(values: Floats, points: Points, kind: Kind, generator: np.random.Generator) -> Floats:
    """Change every second group, as latency that is switched on and off does."""
    level, spread = np.median(values), noise(values)
    result = values.copy()
    side = generator.choice([-1.0, 1.0])
    edges = [*points, values.size]
    for start, end in list(pairwise(edges))[::2]:
        step = side * generator.uniform(*STEPS) * spread
        factor = generator.uniform(*FACTORS)
        group = result[start:end]
        if kind != "mean":
            group += (factor - 1.0) * (group - level)
        if kind != "variance":
            group += step
    return result


def _case(
    carrier: Carrier, scenario: str, values: Floats, points: Points, key: Sequence[int]
) -> Case:
    people = onlookers(values, points, key)
    return Case(carrier.series, scenario, values, points, carrier.times, people)
