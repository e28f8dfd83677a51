"""Which characteristics separate changes from noise: the selection study of Bauer et al. 2022, 2.1.

A genetic search over subsets of a pool, with the validation accuracy of a small forest as fitness.
A selected characteristic counts for both sides. Every run has its own split; the test part is used
only after the search, for the accuracies in the report.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from barograph.errors import DataError
from barograph.evaluation.protocols import Split
from barograph.series import Floats, Ints
from barograph.studies.genetic import Generation, SearchParameters, evolve, members
from barograph.studies.number_cache import NumberCache

# Calls a function with each tuple of arguments and yields the results in order.
ParallelMap = Callable[[Callable[..., float], Sequence[tuple[Any, ...]], str], Iterable[float]]


@dataclass(frozen=True)
class Pool:
    """Candidates with all characteristics: those of Pre, then those of After."""

    names: tuple[str, ...]
    matrix: Floats
    truth: Ints  # 1 where a person said true positive

    def __post_init__(self) -> None:
        """Check that there are two columns per name."""
        if self.matrix.shape != (self.truth.size, 2 * len(self.names)):
            raise DataError(
                f"the matrix has the shape {self.matrix.shape}; {len(self.names)} names and "
                f"{self.truth.size} verdicts need {(self.truth.size, 2 * len(self.names))}"
            )

    def columns(self, subset: int) -> Floats:
        """Return the columns of both sides of a subset."""
        chosen = np.array(members(subset), dtype=np.int64)
        return self.matrix[:, np.concatenate((chosen, chosen + len(self.names)))]


@dataclass(frozen=True, slots=True)
class Forest:
    """The classifier of the fitness, with the same seed for all subsets."""

    trees: int
    seed: int


class Study(NamedTuple):
    """The three tables of the report."""

    characteristics: pd.DataFrame
    runs: pd.DataFrame
    generations: pd.DataFrame


def accuracy(matrix: Floats, truth: Ints, train: Ints, test: Ints, forest: Forest) -> float:
    """Return the accuracy on the rows `test` of a forest trained on the rows `train`."""
    from sklearn.ensemble import RandomForestClassifier

    # One thread, because the order in which several threads add up their trees would decide ties.
    model = RandomForestClassifier(forest.trees, random_state=forest.seed, n_jobs=1)
    model.fit(matrix[train], truth[train])
    return float(np.mean(model.predict(matrix[test]) == truth[test]))


class SubsetScorer:
    """Computes the accuracy of subsets on one split, each at most once per cache."""

    def __init__(
        self,
        pool: Pool,
        split: Split,
        forest: Forest,
        cache: NumberCache,
        parallel_map: ParallelMap,
    ) -> None:
        self.pool = pool
        self.split = split
        self.forest = forest
        self.cache = cache
        self.parallel_map = parallel_map

    def __call__(self, part: str, subsets: Sequence[int], label: str) -> list[float]:
        """Return the accuracy on a part of the split, `validation` or `test`, of each subset."""
        keys = [f"{part}:{subset:x}" for subset in subsets]
        new = {k: s for k, s in zip(keys, subsets, strict=True) if k not in self.cache.known}
        rows = getattr(self.split, part)
        calls = [
            (self.pool.columns(s), self.pool.truth, self.split.train, rows, self.forest)
            for s in new.values()
        ]
        for key, value in zip(new, self.parallel_map(accuracy, calls, label), strict=True):
            self.cache.store(key, value)
        return [self.cache.known[key] for key in keys]


def study(
    pool: Pool,
    splits: Sequence[Split],
    *,
    parameters: SearchParameters,
    forest: Forest,
    folder: Path,
    parallel_map: ParallelMap,
) -> Study:
    """Run the search once per split and report the selected characteristics and their accuracy.

    Args:
        pool: The candidates and their characteristics.
        splits: One per run; the search uses only its train and validation parts.
        parameters: The parameters of the search.
        forest: The classifier of the fitness.
        folder: The folder of the cached accuracies. A study that is killed and started again with
            the same arguments has the same result as an uninterrupted one.
        parallel_map: Computes the forests of a generation.
    """
    runs: list[_Run] = []
    for number, split in enumerate(splits):
        path = folder / f"{_fingerprint(pool, split, forest)}.jsonl"
        with NumberCache(path) as cache:
            scorer = SubsetScorer(pool, split, forest, cache, parallel_map)
            runs.append(_run(number, len(pool.names), scorer, parameters, forest.seed + number))
    return Study(_characteristics(pool.names, runs), _runs(pool.names, runs), _generations(runs))


@dataclass(frozen=True)
class _Run:
    """The result of one run."""

    generations: list[Generation]
    tested: list[int]  # the number of subsets tested at the end of each generation
    accuracies: dict[str, list[float]]  # on the test part

    @property
    def winner(self) -> int:
        return self.generations[-1].subsets[0]


def _run(
    number: int, size: int, scorer: SubsetScorer, parameters: SearchParameters, seed: int
) -> _Run:
    seen: set[int] = set()
    generations: list[Generation] = []
    tested: list[int] = []

    def fitness(subsets: Sequence[int]) -> list[float]:
        return scorer("validation", subsets, f"run {number}, generation {len(tested)}")

    for generation in evolve(size, fitness, parameters, seed):
        seen.update(generation.subsets)
        generations.append(generation)
        tested.append(len(seen))
    everything = (1 << size) - 1
    subsets_of = {
        "winner": [generations[-1].subsets[0]],
        "all": [everything],
        "alone": [1 << k for k in range(size)],
        # A pool of one member has no rest.
        "left_out": [everything & ~(1 << k) or everything for k in range(size)],
    }
    accuracies = {
        name: scorer("test", subsets, f"run {number}, {name}")
        for name, subsets in subsets_of.items()
    }
    return _Run(generations, tested, accuracies)


def _characteristics(names: tuple[str, ...], runs: list[_Run]) -> pd.DataFrame:
    """Return how often each characteristic was selected, and its accuracy."""
    last = [subset for run in runs for subset in run.generations[-1].subsets]
    alone = np.mean([run.accuracies["alone"] for run in runs], axis=0)
    without = np.mean([run.accuracies["left_out"] for run in runs], axis=0)
    everything = np.mean([run.accuracies["all"] for run in runs])
    table = pd.DataFrame(
        {
            "characteristic": names,
            "winners": [sum(run.winner >> k & 1 for run in runs) for k in range(len(names))],
            "share_of_last": [np.mean([s >> k & 1 for s in last]) for k in range(len(names))],
            "accuracy_alone": alone,
            "loss_left_out": everything - without,
        }
    )
    order = ["winners", "share_of_last", "accuracy_alone"]
    return table.sort_values(order, ascending=False, kind="stable", ignore_index=True)


def _runs(names: tuple[str, ...], runs: list[_Run]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "run": number,
            "chosen": " ".join(names[k] for k in members(run.winner)),
            "size": run.winner.bit_count(),
            "validation_accuracy": run.generations[-1].fitness[0],
            "test_accuracy": run.accuracies["winner"][0],
            "test_accuracy_of_all": run.accuracies["all"][0],
            "tested": run.tested[-1],
        }
        for number, run in enumerate(runs)
    )


def _generations(runs: list[_Run]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "run": number,
            "generation": generation.number,
            "best": generation.fitness[0],
            "mean": float(np.mean(generation.fitness)),
            "tested": tested,
        }
        for number, run in enumerate(runs)
        for generation, tested in zip(run.generations, run.tested, strict=True)
    )


def _fingerprint(pool: Pool, split: Split, forest: Forest) -> str:
    """Return a digest of everything that an accuracy depends on except the subset."""
    import sklearn

    digest = sha256(repr((pool.names, pool.matrix.shape, forest, sklearn.__version__)).encode())
    for array in (pool.matrix, pool.truth, *split):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:24]
