"""A genetic search for the best subset of a pool: Bauer et al. 2022, 2.1.

The paper gives the size of the population and the number of generations. The rest is the common
form: tournaments of two select the parents, one-point crossover makes the children, some of which
have one bit flipped, and the best few subsets survive unchanged. A subset is an integer with bit i
for member i.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from barograph.results.series import Flags

Bits = Flags
Fitness = Callable[[Sequence[int]], Sequence[float]]
CROSSOVER = 0.8  # the share of children with two parents
MUTATION = 0.1  # the share of children with one flipped bit
ELITE = 0.05  # the share that survives unchanged


class Generation(NamedTuple):
    """One generation, with the fittest subset first and smaller subsets first among equals."""

    number: int
    subsets: tuple[int, ...]
    fitness: tuple[float, ...]


def evolve(
    size: int, fitness: Fitness, count: int, generations: int, seed: int
) -> Iterator[Generation]:
    """Yield each generation of a search among the non-empty subsets of `size` members.

    The generations depend only on the seed and on the results of `fitness`.

    Args:
        size: The number of members.
        fitness: Returns how good each subset is.
        count: The number of subsets in a generation.
        generations: The number of generations.
        seed: Seed of the search.
    """
    generator = np.random.default_rng(seed)
    population = _without_empty(generator.random((count, size)) < 0.5, generator)
    for number in range(generations):
        subsets = [to_subset(bits) for bits in population]
        values = fitness(subsets)
        order = sorted(
            range(len(subsets)), key=lambda k: (-values[k], subsets[k].bit_count(), subsets[k])
        )
        yield Generation(
            number, tuple(subsets[k] for k in order), tuple(float(values[k]) for k in order)
        )
        population = _next(population[order], generator)


def to_subset(bits: Bits) -> int:
    """Return the subset of a row of bits."""
    return sum(1 << int(k) for k in np.flatnonzero(bits))


def members(subset: int) -> list[int]:
    """Return the positions of the members of a subset, in order."""
    return [k for k in range(subset.bit_length()) if subset >> k & 1]


def _next(ranked: Bits, generator: np.random.Generator) -> Bits:
    """Return the next generation of a ranked population, the fittest first."""
    count, size = ranked.shape
    survivors = round(count * ELITE)
    children_count = count - survivors
    # The winner of two has the lower rank.
    first = ranked[generator.integers(count, size=(children_count, 2)).min(axis=1)]
    second = ranked[generator.integers(count, size=(children_count, 2)).min(axis=1)]
    cut = generator.integers(1, size + 1, size=(children_count, 1))
    crossed = generator.random((children_count, 1)) < CROSSOVER
    children = np.where(crossed & (np.arange(size) >= cut), second, first)
    flipped = np.flatnonzero(generator.random(children_count) < MUTATION)
    children[flipped, generator.integers(size, size=flipped.size)] ^= True
    return np.concatenate((ranked[:survivors], _without_empty(children, generator)))


def _without_empty(population: Bits, generator: np.random.Generator) -> Bits:
    """Return the population with one random member added to every empty subset."""
    empty = np.flatnonzero(~population.any(axis=1))
    population[empty, generator.integers(population.shape[1], size=empty.size)] = True
    return population
