"""A genetic search for the best subset of a pool: Bauer et al. 2022, 2.1.

The paper gives the size of the population and the number of generations. The rest is the common
form: tournaments of two select the parents, one-point crossover makes the children, some of which
have one bit flipped, and the best few subsets survive unchanged. A subset is an integer with bit i
for member i.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from barograph.errors import ConfigError
from barograph.series import Flags

Bits = Flags
Fitness = Callable[[Sequence[int]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class SearchParameters:
    """The parameters of the search."""

    population: int = 200
    generations: int = 71
    crossover: float = 0.8  # the share of children with two parents
    mutation: float = 0.1  # the share of children with one flipped bit
    elite: float = 0.05  # the share that survives unchanged

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name, minimum in (("population", 2), ("generations", 1)):
            value = getattr(self, name)
            if value < minimum:
                raise ConfigError(f"{name} is {value}; it must be at least {minimum}")
        for name in ("crossover", "mutation", "elite"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be from 0 to 1")


class Generation(NamedTuple):
    """One generation, with the fittest subset first and smaller subsets first among equals."""

    number: int
    subsets: tuple[int, ...]
    fitness: tuple[float, ...]


def evolve(
    size: int, fitness: Fitness, parameters: SearchParameters, seed: int
) -> Iterator[Generation]:
    """Yield each generation of a search among the non-empty subsets of `size` members.

    The generations depend only on the seed and on the results of `fitness`.
    """
    if size < 1:
        raise ConfigError(f"a pool of {size} members has no subset to select")
    generator = np.random.default_rng(seed)
    population = _without_empty(generator.random((parameters.population, size)) < 0.5, generator)
    for number in range(parameters.generations):
        subsets = [to_subset(bits) for bits in population]
        values = fitness(subsets)
        order = sorted(
            range(len(subsets)), key=lambda k: (-values[k], subsets[k].bit_count(), subsets[k])
        )
        yield Generation(
            number, tuple(subsets[k] for k in order), tuple(float(values[k]) for k in order)
        )
        population = _next(population[order], parameters, generator)


def to_subset(bits: Bits) -> int:
    """Return the subset of a row of bits."""
    return sum(1 << int(k) for k in np.flatnonzero(bits))


def members(subset: int) -> list[int]:
    """Return the positions of the members of a subset, in order."""
    return [k for k in range(subset.bit_length()) if subset >> k & 1]


def _next(ranked: Bits, parameters: SearchParameters, generator: np.random.Generator) -> Bits:
    """Return the next generation of a ranked population, the fittest first."""
    count, size = ranked.shape
    survivors = round(count * parameters.elite)
    children_count = count - survivors
    # The winner of two has the lower rank.
    first = ranked[generator.integers(count, size=(children_count, 2)).min(axis=1)]
    second = ranked[generator.integers(count, size=(children_count, 2)).min(axis=1)]
    cut = generator.integers(1, size + 1, size=(children_count, 1))
    crossed = generator.random((children_count, 1)) < parameters.crossover
    children = np.where(crossed & (np.arange(size) >= cut), second, first)
    flipped = np.flatnonzero(generator.random(children_count) < parameters.mutation)
    children[flipped, generator.integers(size, size=flipped.size)] ^= True
    return np.concatenate((ranked[:survivors], _without_empty(children, generator)))


def _without_empty(population: Bits, generator: np.random.Generator) -> Bits:
    """Return the population with one random member added to every empty subset."""
    empty = np.flatnonzero(~population.any(axis=1))
    population[empty, generator.integers(population.shape[1], size=empty.size)] = True
    return population
