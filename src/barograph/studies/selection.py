"""Stage `selection`: the search for the best characteristics of Bauer et al. 2022, 2.1.

It may take hours.

A genetic search over subsets of a pool, with the validation accuracy of a small forest as fitness.
A selected characteristic counts for both sides. The paper gives the size of the population and the
number of generations. The rest is the common form: tournaments of two select the parents, one-point
crossover makes the children, some of which have one bit flipped, and the best few subsets survive
unchanged. A subset is an integer with bit i for member i.

Bauer et al. searched 20 characteristics and name only the eight that won; their code has a ninth.
So their pool cannot be repeated. This one has 23: the nine, and 14 of tsfeatures that take about a
millisecond or less, computed without scaling. Where the package has no result, mostly for short and
constant sides, the value is NaN, which forests treat as missing.

Every run has its own random split; the test part is used only after the search.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd

from barograph.features import FEATURE_SETS, feature_matrix
from barograph.features.tsfeatures import FUNCTIONS, numbers_of
from barograph.learning.limits import Bounds, Count, Range, Seed
from barograph.learning.protocols import Split, is_usable, random_splits
from barograph.learning.tables import keys_of
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import page_without_verdicts, parameters, profile_name, run
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.results.history import History
from barograph.results.series import FINAL, Flags, Floats, Ints, Verdict
from barograph.runtime.errors import NotEnoughDataError
from barograph.runtime.parallel import map_parallel
from barograph.studies.statistics import bounds_of

NINE = tuple(name.removeprefix("pre_") for name in FEATURE_SETS["bauer9"][:9])
# The functions of tsfeatures, and the results of each that belong to the pool.
FURTHER = {
    name: FUNCTIONS[name]
    for name in (
        *("acf_features", "pacf_features", "flat_spots", "unitroot_kpss"),
        *("unitroot_pp", "nonlinearity", "series_length"),
    )
}
POOL = (*NINE, *(name for names in FURTHER.values() for name in names))
CHUNK = 100  # sides
CROSSOVER = 0.8  # the share of children with two parents
MUTATION = 0.1  # the share of children with one flipped bit
ELITE = 0.05  # the share of a generation that survives unchanged
Ranked = list[tuple[int, float]]  # the subsets of a generation and their fitness, the fittest first
FOLDER = report.FOLDER / "selection"


@dataclass(frozen=True)
class SelectionParams:
    """Parameters of the stage `selection`.

    Attributes:
        policy: The policy of the bounds.
        runs: The number of searches, each with its own split.
        population: The number of subsets in a generation.
        generations: The number of generations of a run.
        trees: The number of trees of every forest.
        seed: Seed of splits, searches and forests.
    """

    policy: Bounds = "adaptive"
    runs: Count = 1
    population: Annotated[int, Range(2)] = 200
    generations: Count = 71
    trees: Count = 50
    seed: Seed = 1


class Pool(NamedTuple):
    """Candidates with all characteristics: those of Pre, then those of After."""

    names: tuple[str, ...]
    matrix: Floats
    truth: Ints  # 1 for true positives, 0 for false positives

    def columns(self, subset: int) -> Floats:
        """Return the columns of both sides of a subset."""
        chosen = np.array(members(subset), dtype=np.int64)
        return self.matrix[:, np.concatenate((chosen, chosen + len(self.names)))]


def select(
    params: SelectionParams, history: History, bounds: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Run the study on the decided candidates.

    Args:
        params: The parameters of the stage.
        history: The values and verdicts.
        bounds: The bounds of every candidate under every policy.

    Raises:
        ConfigError: The policy has no bounds.
        NotEnoughDataError: No split has verdicts of both kinds in each part.
    """
    rows = bounds_of(bounds, params.policy).merge(
        keys_of(history), on="candidate", validate="one_to_one"
    )
    rows = rows[rows["verdict"].isin(FINAL)].reset_index(drop=True)
    truth = (rows["verdict"] == Verdict.TRUE_POSITIVE.value).to_numpy().astype(np.int64)
    drawn = random_splits(len(rows), params.runs, params.seed)
    splits = [split for split in drawn if is_usable(split, truth)]
    if not splits:
        raise NotEnoughDataError(
            f"no split of {truth.size} decided candidates has enough verdicts of both kinds"
        )
    values = history.values  # noqa: PD011 - not a data frame
    starts, middles, ends = (rows[name].to_numpy(np.int64) for name in ("start", "split", "end"))
    matrix = pool_matrix(values, starts, middles, ends)
    return study(Pool(POOL, matrix, truth), splits, params)


def study(pool: Pool, splits: Sequence[Split], params: SelectionParams) -> dict[str, pd.DataFrame]:
    """Run the search once per split.

    Args:
        pool: The candidates and their characteristics.
        splits: One for each run; the search sees train and validation only.
        params: The parameters of the stage.

    Returns:
        `characteristics`: how often each was selected, its accuracy alone, and the loss without it.
        `runs`: the fittest subset of each run and its accuracy.
    """
    size, everything = len(pool.names), (1 << len(pool.names)) - 1
    single = [1 << k for k in range(size)]
    # A pool of one member has no rest.
    others = [everything, *single, *(everything & ~bit or everything for bit in single)]
    last: list[Ranked] = []
    tested: list[list[float]] = []
    for number, split in enumerate(splits):
        label = f"run {number}"
        fitness = partial(accuracies, pool, split.train, split.validation, params, label, {})
        seed = params.seed + number
        *_, ranked = evolve(size, fitness, params.population, params.generations, seed)
        last.append(ranked)
        subsets = [ranked[0][0], *others]
        tested.append(accuracies(pool, split.train, split.test, params, label, {}, subsets))
    best, complete, *_ = np.array(tested).T
    means = np.mean(tested, axis=0)[2:]
    runs = {
        "run": range(len(last)),
        "chosen": [" ".join(pool.names[k] for k in members(ranked[0][0])) for ranked in last],
        "size": [ranked[0][0].bit_count() for ranked in last],
        "validation_accuracy": [ranked[0][1] for ranked in last],
        "test_accuracy": best,
        "test_accuracy_of_all": complete,
    }
    characteristics = {
        "characteristic": pool.names,
        "winners": [sum(ranked[0][0] >> k & 1 for ranked in last) for k in range(size)],
        "share_of_last": [np.mean([s >> k & 1 for r in last for s, _ in r]) for k in range(size)],
        "accuracy_alone": means[:size],
        "loss_left_out": np.mean(complete) - means[size:],
    }
    order = ["winners", "share_of_last", "accuracy_alone"]
    table = pd.DataFrame(characteristics).sort_values(
        order, ascending=False, kind="stable", ignore_index=True
    )
    return {"characteristics": table, "runs": pd.DataFrame(runs)}


def accuracies(
    pool: Pool,
    train: Ints,
    test: Ints,
    params: SelectionParams,
    label: str,
    known: dict[int, float],
    subsets: Sequence[int],
) -> list[float]:
    """Return the accuracy on the rows `test` of a forest on each subset, from the rows `train`.

    Generations have many subsets in common: `known` keeps the accuracies by subset.
    """
    missing = [subset for subset in dict.fromkeys(subsets) if subset not in known]
    forest = params.trees, params.seed  # the same for all subsets
    calls = [(pool.columns(subset), pool.truth, train, test, *forest) for subset in missing]
    known |= dict(zip(missing, map_parallel(accuracy, calls, label), strict=True))
    return [known[subset] for subset in subsets]


def accuracy(matrix: Floats, truth: Ints, train: Ints, test: Ints, trees: int, seed: int) -> float:
    """Return the accuracy on the rows `test` of a forest trained on the rows `train`."""
    from sklearn.ensemble import RandomForestClassifier

    # One thread, because the order in which several threads add up their trees would decide ties.
    model = RandomForestClassifier(trees, random_state=seed, n_jobs=1)
    model.fit(matrix[train], truth[train])
    return float(np.mean(model.predict(matrix[test]) == truth[test]))


def evolve(
    size: int,
    fitness: Callable[[Sequence[int]], Sequence[float]],
    count: int,
    generations: int,
    seed: int,
) -> Iterator[Ranked]:
    """Yield each generation of a search among the non-empty subsets of `size` members.

    Of equally fit subsets, smaller ones come first. The generations depend only on the seed and on
    the results of `fitness`.

    Args:
        size: The number of members.
        fitness: Returns how good each subset is.
        count: The number of subsets in a generation.
        generations: The number of generations.
        seed: Seed of the search.
    """
    generator = np.random.default_rng(seed)
    population = _without_empty(generator.random((count, size)) < 0.5, generator)
    for _ in range(generations):
        subsets = [sum(1 << int(k) for k in np.flatnonzero(bits)) for bits in population]
        values = [float(value) for value in fitness(subsets)]
        order = sorted(range(count), key=lambda k: (-values[k], subsets[k].bit_count(), subsets[k]))
        yield [(subsets[k], values[k]) for k in order]
        population = _next(population[order], generator)


def members(subset: int) -> list[int]:
    """Return the positions of the members of a subset, in order."""
    return [k for k in range(subset.bit_length()) if subset >> k & 1]


def _next(ranked: Flags, generator: np.random.Generator) -> Flags:
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


def _without_empty(population: Flags, generator: np.random.Generator) -> Flags:
    """Return the population with one random member added to every empty subset."""
    empty = np.flatnonzero(~population.any(axis=1))
    population[empty, generator.integers(population.shape[1], size=empty.size)] = True
    return population


def pool_matrix(values: Floats, starts: Ints, splits: Ints, ends: Ints) -> Floats:
    """Return one row per candidate: the POOL of Pre, then that of After.

    Args:
        values: All values; Pre is values[start:split], After is values[split:end].
        starts: Where each Pre starts.
        splits: Where each After starts.
        ends: Where each After ends.
    """
    sides = [values[a:b] for a, b in zip((*starts, *splits), (*splits, *ends), strict=True)]
    calls = [(sides[first : first + CHUNK], FURTHER) for first in range(0, len(sides), CHUNK)]
    further = np.split(np.concatenate(list(map_parallel(numbers_of, calls, "tsfeatures"))), 2)
    nine = np.split(feature_matrix(values, starts, splits, ends, "bauer9"), 2, axis=1)
    return np.concatenate([nine[0], further[0], nine[1], further[1]], axis=1)


@page_without_verdicts(FOLDER / "characteristics.md")
def main() -> None:
    """Run the stage."""
    params = parameters(SelectionParams, "selection")
    tables = select(params, History.read(INTERIM), pd.read_parquet(BOUNDS))
    note = (
        f"Population {params.population}, {params.generations} generations, {params.runs} run(s), "
        f"forests of {params.trees} trees, bounds `{params.policy}`. Fitness is the accuracy on "
        "validation. Winners: in how many runs the fittest subset of the last generation holds it. "
        "Share: of the last generations. Alone: accuracy on test of a forest on it alone, both "
        "sides. Loss: how much accuracy on test the whole pool loses without it."
    )
    title = f"Selection of characteristics (Bauer et al. 2022, 2.1), profile {profile_name()}"
    for name, table in tables.items():
        report.write_csv(FOLDER / f"{name}.csv", table)
        report.write_page(FOLDER / f"{name}.md", title, table.round(4), note)


if __name__ == "__main__":
    run(main)
