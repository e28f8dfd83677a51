"""Which characteristics tell changes from noise: the selection study of Bauer et al. 2022, 2.1.

A genetic search over subsets of a pool, with the accuracy on validation of a small forest as its
fitness. A chosen characteristic is that of both sides. Every run has a split of its own; its test
part is looked at once the search is over, and by every number that the report gives for worth.
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
from barograph.studies.genetic import Generation, Life, evolve, members
from barograph.studies.memory import Memory

# Calls a function with each tuple of arguments and yields the results in order.
Spread = Callable[[Callable[..., float], Sequence[tuple[Any, ...]], str], Iterable[float]]


@dataclass(frozen=True)
class Pool:
    """Candidates with all characteristics: those of Pre, then those of After."""

    names: tuple[str, ...]
    matrix: Floats
    truth: Ints  # 1 where a person said true positive

    def __post_init__(self) -> None:
        """Refuse columns that are not two for each name."""
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
    """The classifier of the fitness; one seed for all subsets, so that luck is shared."""

    trees: int
    seed: int


class Study(NamedTuple):
    """The three tables of the report."""

    characteristics: pd.DataFrame
    runs: pd.DataFrame
    generations: pd.DataFrame


def accuracy(matrix: Floats, truth: Ints, train: Ints, judged: Ints, forest: Forest) -> float:
    """Return the share of the judged rows that a forest learned from `train` gets right."""
    from sklearn.ensemble import RandomForestClassifier

    # One thread: the order in which several add up their trees would decide ties.
    model = RandomForestClassifier(forest.trees, random_state=forest.seed, n_jobs=1)
    model.fit(matrix[train], truth[train])
    return float(np.mean(model.predict(matrix[judged]) == truth[judged]))


class Judge:
    """Accuracies of subsets on one split, each computed once in a lifetime of its memory."""

    def __init__(
        self, pool: Pool, split: Split, forest: Forest, memory: Memory, spread: Spread
    ) -> None:
        self.pool = pool
        self.split = split
        self.forest = forest
        self.memory = memory
        self.spread = spread

    def __call__(self, part: str, subsets: Sequence[int], label: str) -> list[float]:
        """Return the accuracy on a part of the split, `validation` or `test`, of each subset."""
        keys = [f"{part}:{subset:x}" for subset in subsets]
        new = {k: s for k, s in zip(keys, subsets, strict=True) if k not in self.memory.known}
        judged = getattr(self.split, part)
        calls = [
            (self.pool.columns(s), self.pool.truth, self.split.train, judged, self.forest)
            for s in new.values()
        ]
        for key, value in zip(new, self.spread(accuracy, calls, label), strict=True):
            self.memory.remember(key, value)
        return [self.memory.known[key] for key in keys]


def study(
    pool: Pool,
    splits: Sequence[Split],
    *,
    life: Life,
    forest: Forest,
    folder: Path,
    spread: Spread,
) -> Study:
    """Run the search once for each split and report what was chosen, and what it is worth.

    Args:
        pool: The candidates and their characteristics.
        splits: One for each run; the search sees train and validation only.
        life: How the population lives.
        forest: The classifier of the fitness.
        folder: Where accuracies are remembered. A study that was killed and starts again with the
            same arguments gives the very result of one that ran through.
        spread: How the forests of one generation are spread over processes.
    """
    runs: list[_Run] = []
    for number, split in enumerate(splits):
        path = folder / f"{_fingerprint(pool, split, forest)}.jsonl"
        with Memory(path) as memory:
            judge = Judge(pool, split, forest, memory, spread)
            runs.append(_run(number, len(pool.names), judge, life, forest.seed + number))
    return Study(_characteristics(pool.names, runs), _runs(pool.names, runs), _generations(runs))


@dataclass(frozen=True)
class _Run:
    """What one run found."""

    generations: list[Generation]
    tested: list[int]  # subsets tested by each generation's end
    worth: dict[str, list[float]]  # accuracy on test

    @property
    def winner(self) -> int:
        return self.generations[-1].subsets[0]


def _run(number: int, size: int, judge: Judge, life: Life, seed: int) -> _Run:
    seen: set[int] = set()
    generations: list[Generation] = []
    tested: list[int] = []

    def fitness(subsets: Sequence[int]) -> list[float]:
        return judge("validation", subsets, f"run {number}, generation {len(tested)}")

    for generation in evolve(size, fitness, life, seed):
        seen.update(generation.subsets)
        generations.append(generation)
        tested.append(len(seen))
    everything = (1 << size) - 1
    asked = {
        "winner": [generations[-1].subsets[0]],
        "all": [everything],
        "alone": [1 << k for k in range(size)],
        # Of a pool of one, nothing is left.
        "left_out": [everything & ~(1 << k) or everything for k in range(size)],
    }
    worth = {name: judge("test", s, f"run {number}, {name}") for name, s in asked.items()}
    return _Run(generations, tested, worth)


def _characteristics(names: tuple[str, ...], runs: list[_Run]) -> pd.DataFrame:
    """Return, for each characteristic, how often it was chosen and what it is worth."""
    last = [subset for run in runs for subset in run.generations[-1].subsets]
    alone = np.mean([run.worth["alone"] for run in runs], axis=0)
    without = np.mean([run.worth["left_out"] for run in runs], axis=0)
    everything = np.mean([run.worth["all"] for run in runs])
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
            "test_accuracy": run.worth["winner"][0],
            "test_accuracy_of_all": run.worth["all"][0],
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
    """Return what stands for everything that an accuracy depends on but the subset."""
    import sklearn

    digest = sha256(repr((pool.names, pool.matrix.shape, forest, sklearn.__version__)).encode())
    for array in (pool.matrix, pool.truth, *split):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:24]
