"""A genetic search for the best subset of a pool: Bauer et al. 2022, 2.1.

The paper gives the size of the population and how long it lived. The rest is the common form:
parents win tournaments of two, children are cut from both at one place, one bit in some of them
flips, and the best few live on unchanged. A subset is a whole number, bit i for member i.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.errors import ConfigError

Bits = npt.NDArray[np.bool_]
Fitness = Callable[[Sequence[int]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Life:
    """How a population lives."""

    population: int = 200
    generations: int = 71
    crossover: float = 0.8  # the share of children that are cut from two parents
    mutation: float = 0.1  # the share of children of which one bit flips
    elite: float = 0.05  # the share that lives on

    def __post_init__(self) -> None:
        """Refuse what can not live."""
        for name, least in (("population", 2), ("generations", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least {least}")
        for name in ("crossover", "mutation", "elite"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be from 0 to 1")


class Generation(NamedTuple):
    """One generation, the fittest subset first; among equals the smaller subset."""

    number: int
    subsets: tuple[int, ...]
    fitness: tuple[float, ...]


def evolve(size: int, fitness: Fitness, life: Life, seed: int) -> Iterator[Generation]:
    """Yield each generation of a search among the non-empty subsets of `size` members.

    The course depends on the seed and on what `fitness` returns, and on nothing else.
    """
    if size < 1:
        raise ConfigError(f"a pool of {size} members has no subset to choose")
    generator = np.random.default_rng(seed)
    population = _inhabited(generator.random((life.population, size)) < 0.5, generator)
    for number in range(life.generations):
        subsets = [to_subset(bits) for bits in population]
        found = fitness(subsets)
        order = sorted(
            range(len(subsets)), key=lambda k: (-found[k], subsets[k].bit_count(), subsets[k])
        )
        yield Generation(
            number, tuple(subsets[k] for k in order), tuple(float(found[k]) for k in order)
        )
        population = _next(population[order], life, generator)


def to_subset(bits: Bits) -> int:
    """Return the number of a row of bits."""
    return sum(1 << int(k) for k in np.flatnonzero(bits))


def members(subset: int) -> list[int]:
    """Return the positions of the members of a subset, in order."""
    return [k for k in range(subset.bit_length()) if subset >> k & 1]


def _next(ranked: Bits, life: Life, generator: np.random.Generator) -> Bits:
    """Return the next generation of a population that is ranked, the fittest first."""
    count, size = ranked.shape
    kept = round(count * life.elite)
    born = count - kept
    # The winner of two is the one of the lower rank.
    first = ranked[generator.integers(count, size=(born, 2)).min(axis=1)]
    second = ranked[generator.integers(count, size=(born, 2)).min(axis=1)]
    cut = generator.integers(1, size + 1, size=(born, 1))
    crossed = generator.random((born, 1)) < life.crossover
    children = np.where(crossed & (np.arange(size) >= cut), second, first)
    flipped = np.flatnonzero(generator.random(born) < life.mutation)
    children[flipped, generator.integers(size, size=flipped.size)] ^= True
    return np.concatenate((ranked[:kept], _inhabited(children, generator)))


def _inhabited(population: Bits, generator: np.random.Generator) -> Bits:
    """Give every empty subset one member."""
    empty = np.flatnonzero(~population.any(axis=1))
    population[empty, generator.integers(population.shape[1], size=empty.size)] = True
    return population
