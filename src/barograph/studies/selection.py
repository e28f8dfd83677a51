"""Which characteristics separate changes from noise: the selection study of Bauer et al. 2022, 2.1.

A genetic search over subsets of a pool, with the validation accuracy of a small forest as fitness.
A selected characteristic counts for both sides. Every run has its own split; the test part is used
only after the search, for the accuracies in the report.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import pandas as pd

from barograph.learning import resume
from barograph.learning.limits import Bounds, Count, Named, Range, Seed
from barograph.learning.protocols import Split, grouped_splits, is_usable, random_splits
from barograph.learning.tables import keys_of
from barograph.results.history import History
from barograph.results.series import FINAL, Floats, Ints, Verdict
from barograph.runtime.errors import ConfigError, NotEnoughDataError
from barograph.runtime.parallel import worker_count
from barograph.studies.genetic import Generation, evolve, members
from barograph.studies.pool import FURTHER, POOL, further_matrix, pool_matrix
from barograph.studies.statistics import bounds_of

CACHE = resume.FOLDER / "selection"
PROTOCOLS = ("random", "grouped")
Scorer = Callable[[str, Sequence[int], str], list[float]]  # what `accuracies` does on one split


@dataclass(frozen=True)
class SelectionParams:
    """Parameters of the stage `selection`.

    Attributes:
        policy: The policy of the bounds.
        protocol: The protocol of the splits, one of `PROTOCOLS`.
        runs: The number of searches, each with its own split.
        population: The number of subsets in a generation.
        generations: The number of generations of a run.
        trees: The number of trees of every forest.
        seed: Seed of splits, searches and forests.
    """

    policy: Bounds = "adaptive"
    protocol: Annotated[str, Named(lambda: PROTOCOLS)] = "random"
    runs: Count = 1
    population: Annotated[int, Range(2)] = 200
    generations: Count = 71
    trees: Count = 50
    seed: Seed = 1


@dataclass(frozen=True)
class Pool:
    """Candidates with all characteristics: those of Pre, then those of After."""

    names: tuple[str, ...]
    matrix: Floats
    truth: Ints  # 1 for true positives, 0 for false positives

    def columns(self, subset: int) -> Floats:
        """Return the columns of both sides of a subset."""
        chosen = np.array(members(subset), dtype=np.int64)
        return self.matrix[:, np.concatenate((chosen, chosen + len(self.names)))]


class Study(NamedTuple):
    """The three tables of the report."""

    characteristics: pd.DataFrame
    runs: pd.DataFrame
    generations: pd.DataFrame


def accuracy(
    matrix: Floats, truth: Ints, train: Ints, test: Ints, trees: int, seed: int
) -> dict[str, float]:
    """Return the accuracy on the rows `test` of a forest trained on the rows `train`."""
    from sklearn.ensemble import RandomForestClassifier

    # One thread, because the order in which several threads add up their trees would decide ties.
    model = RandomForestClassifier(trees, random_state=seed, n_jobs=1)
    model.fit(matrix[train], truth[train])
    return {"accuracy": float(np.mean(model.predict(matrix[test]) == truth[test]))}


def accuracies(
    pool: Pool,
    split: Split,
    params: SelectionParams,
    folder: Path,
    part: str,
    subsets: Sequence[int],
    label: str,
) -> list[float]:
    """Return the accuracy on a part of the split, `validation` or `test`, of each subset.

    Each is computed once, also across interrupted runs.
    """
    forest = params.trees, params.seed  # the same for all subsets
    facts = pool.names, forest, version("scikit-learn"), part
    same = resume.key(*facts, pool.matrix, pool.truth, *split)
    rows = getattr(split, part)
    calls = [(pool.columns(s), pool.truth, split.train, rows, *forest) for s in subsets]
    paths = [folder / f"{resume.key(same, s)}.npz" for s in subsets]
    return [scored["accuracy"] for scored in resume.map_resumed(accuracy, calls, paths, label)]


def study(
    pool: Pool, splits: Sequence[Split], params: SelectionParams, folder: Path = CACHE
) -> Study:
    """Run the search once per split and report the selected characteristics and their accuracy.

    Args:
        pool: The candidates and their characteristics.
        splits: One for each run; the search sees train and validation only.
        params: The parameters of the stage.
        folder: Where all accuracies are kept. An interrupted study that starts again with the same
            arguments gives the same result.
    """
    runs = [
        _run(number, len(pool.names), partial(accuracies, pool, split, params, folder), params)
        for number, split in enumerate(splits)
    ]
    return Study(_characteristics(pool.names, runs), _runs(pool.names, runs), _generations(runs))


def select(params: SelectionParams, history: History, bounds: pd.DataFrame) -> Study:
    """Run the study on the decided candidates.

    Args:
        params: The parameters of the stage.
        history: The values and verdicts.
        bounds: The bounds of every candidate under every policy.

    Raises:
        NotEnoughDataError: No split has verdicts of both kinds in each part.
    """
    rows = decided(history, bounds, params.policy)
    truth = (rows["verdict"] == Verdict.TRUE_POSITIVE.value).to_numpy().astype(np.int64)
    splits = [split for split in splits_of(rows, params) if is_usable(split, truth)]
    if not splits:
        raise NotEnoughDataError(
            f"no split of {truth.size} decided candidates has enough verdicts of both kinds"
        )
    sides = (rows[name].to_numpy(dtype=np.int64) for name in ("start", "split", "end"))
    starts, middles, ends = sides
    further = _cached_further(history.values, starts, middles, ends)
    pool = Pool(POOL, pool_matrix(history.values, starts, middles, ends, further), truth)
    return study(pool, splits, params)


def decided(history: History, bounds: pd.DataFrame, policy: str) -> pd.DataFrame:
    """Return the decided candidates with their bounds under a policy.

    Raises:
        ConfigError: The policy has no bounds.
    """
    keys = keys_of(history)
    rows = bounds_of(bounds, policy).merge(keys, on="candidate", validate="one_to_one")
    return rows[rows["verdict"].isin(FINAL)].reset_index(drop=True)


def splits_of(rows: pd.DataFrame, params: SelectionParams) -> list[Split]:
    """Return one split per run: random, or without series and commits in common."""
    if params.protocol == "random":
        return list(random_splits(len(rows), params.runs, params.seed))
    if params.protocol == "grouped":
        series, commits = rows["series"].to_numpy(), rows["commit"].to_numpy()
        return list(grouped_splits(series, commits, params.runs, params.seed))
    raise ConfigError(f"protocol is {params.protocol!r}; give one of {PROTOCOLS}")


def _cached_further(values: Floats, starts: Ints, splits: Ints, ends: Ints) -> Floats:
    """Return the slow part of the pool, from the disk if it was computed before."""
    sides = values, starts, splits, ends
    path = CACHE / f"{resume.key(FURTHER, version('tsfeatures'), *sides)}.npz"
    stored = resume.load(path)
    if stored is not None:
        return stored["further"]
    matrix = further_matrix(*sides, processes=worker_count())
    resume.save(path, {"further": matrix})
    return matrix


@dataclass(frozen=True)
class _Run:
    """The result of one run."""

    generations: list[Generation]
    tested: list[int]  # the number of subsets tested at the end of each generation
    accuracies: dict[str, list[float]]  # on the test part

    @property
    def winner(self) -> int:
        return self.generations[-1].subsets[0]


def _run(number: int, size: int, scorer: Scorer, params: SelectionParams) -> _Run:
    scored: set[int] = set()
    generations: list[Generation] = []
    tested: list[int] = []

    def fitness(subsets: Sequence[int]) -> list[float]:
        return scorer("validation", subsets, f"run {number}, generation {len(tested)}")

    seed = params.seed + number
    for generation in evolve(size, fitness, params.population, params.generations, seed):
        scored.update(generation.subsets)
        generations.append(generation)
        tested.append(len(scored))
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
