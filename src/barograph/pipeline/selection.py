"""Stage `selection`: the genetic search for the best characteristics, on demand.

It may take hours. What it has computed is under data/cache, so it can be stopped at any moment:
started again with the same parameters and data, it goes on and ends with the same result.
"""

from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from barograph.errors import ConfigError
from barograph.evaluation.experiment import judged
from barograph.evaluation.protocols import Split, grouped_splits, random_splits
from barograph.files import whole
from barograph.history import History
from barograph.parallel import map_parallel, progress, worker_count
from barograph.pipeline import report
from barograph.pipeline.characterise import keys_of
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.series import FINAL, Floats, Ints, Verdict
from barograph.studies.genetic import SearchParameters
from barograph.studies.pool import FURTHER, POOL, further_matrix, pool_matrix
from barograph.studies.selection import Forest, Pool, Study, study

FOLDER = report.FOLDER / "selection"
CACHE = Path("data/cache/selection")
PROTOCOLS = ("random", "grouped")


@dataclass(frozen=True)
class SelectionParams:
    """How long the search goes on, and what it learns from."""

    policy: str = "adaptive"
    protocol: str = "random"
    runs: int = 1
    population: int = 200
    generations: int = 71
    trees: int = 50
    seed: int = 1


def select(params: SelectionParams) -> Study:
    """Run the study on the candidates that people decided."""
    history = History.read(INTERIM)
    rows = decided(history, params.policy)
    truth = (rows["verdict"] == Verdict.TRUE_POSITIVE.value).to_numpy().astype(np.int64)
    starts, middles, ends = (
        rows[name].to_numpy(dtype=np.int64) for name in ("start", "split", "end")
    )
    further = remembered(history.values, starts, middles, ends)
    matrix = pool_matrix(history.values, starts, middles, ends, further)
    forest = Forest(params.trees, params.seed)
    search = SearchParameters(params.population, params.generations)
    parts = [split for split in splits(rows, params) if judged(split, truth)]
    if not parts:
        raise ConfigError(f"no split of {truth.size} decided candidates holds both verdicts")
    return study(
        Pool(POOL, matrix, truth),
        parts,
        parameters=search,
        forest=forest,
        folder=CACHE,
        parallel_map=map_parallel,
    )


def decided(history: History, policy: str) -> pd.DataFrame:
    """Return the candidates that people decided, with their bounds under a policy."""
    bounds = pd.read_parquet(BOUNDS)
    bounds = bounds[bounds["policy"] == policy]
    if bounds.empty:
        raise ConfigError(f"{BOUNDS} has no policy {policy!r}")
    rows = bounds.merge(keys_of(history), on="candidate", validate="one_to_one")
    final = rows["verdict"].isin(FINAL)
    return rows[final].reset_index(drop=True)


def splits(rows: pd.DataFrame, params: SelectionParams) -> list[Split]:
    """Return one split for each run: the paper's, or one that shares no series and no commit."""
    if params.protocol == "random":
        return list(random_splits(len(rows), params.runs, params.seed))
    if params.protocol == "grouped":
        series, commits = rows["series"].to_numpy(), rows["commit"].to_numpy()
        return list(grouped_splits(series, commits, params.runs, params.seed))
    raise ConfigError(f"protocol is {params.protocol!r}; give one of {PROTOCOLS}")


def remembered(values: Floats, starts: Ints, splits: Ints, ends: Ints) -> Floats:
    """Return the slow part of the pool, from the disk where it was computed before."""
    digest = sha256(repr((FURTHER, version("tsfeatures"))).encode())
    for array in (values, starts, splits, ends):
        digest.update(array.tobytes())
    path = CACHE / f"{digest.hexdigest()[:24]}.npy"
    if path.is_file():
        stored: Floats = np.load(path, allow_pickle=False)
        return stored
    matrix = further_matrix(
        values,
        starts,
        splits,
        ends,
        processes=worker_count(),
        progress=lambda d, n: progress("pool", d, n),
    )
    with whole(path) as draft, draft.open("wb") as file:
        np.save(file, matrix)
    return matrix


def notes(params: SelectionParams) -> list[str]:
    """Return what a reader of the tables must know."""
    return [
        f"Profile `{profile_name()}`: population {params.population}, {params.generations} "
        f"generations, {params.runs} run(s), forests of {params.trees} trees, bounds "
        f"`{params.policy}`, {params.protocol} splits. Fitness is the accuracy on validation.",
        "Winners: in how many runs the fittest subset of the last generation holds it. Share: of "
        "the last generations. Alone: accuracy on test of a forest on it alone, both sides. Loss: "
        "how much accuracy on test the whole pool loses without it.",
    ]


def main() -> None:
    """Run the stage."""
    params = parameters(SelectionParams, "selection")
    found = select(params)
    for name, table in found._asdict().items():
        report.write_csv(FOLDER / f"{name}.csv", table)
    title = f"Selection of characteristics (Bauer et al. 2022, 2.1), profile {profile_name()}"
    table = found.characteristics.round(4)
    report.write_table(FOLDER / "characteristics.md", title, table, notes(params))
    report.write_table(FOLDER / "runs.md", title, found.runs.round(4), notes(params))


if __name__ == "__main__":
    run(main)
