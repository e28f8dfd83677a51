"""The time of Table 1: 100 random splits, three models, 15,000 rows, forests of 500 trees.

By default a few splits of every model are measured at full size, and the total is extrapolated: the
splits are alike and independent. Besides the elapsed time, which depends on the load of the
machine, the table has the time on free cores, from the processor time of one split. `--full`
measures all splits. The rows are random, of two overlapping classes, with the number of columns of
`bauer8`.
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from side_by_side import arguments, show

from barograph.evaluation.protocols import random_splits
from barograph.features import FEATURE_SETS
from barograph.parallel import VARIABLE, worker_count
from barograph.studies.repetitions import Repetition, repeat, repetition
from barograph.training.tables import Labelled

MODELS = ("random_forest", "svm", "xgboost")
ROWS, TREES, SPLITS = 15_000, 500, 100
PART = 2  # splits per worker
GOAL_MINUTES = 45.0


def drawn(rows: int) -> Labelled:
    """Return random rows of two overlapping classes."""
    generator = np.random.default_rng(0)
    truth = generator.integers(0, 2, rows)
    matrix = generator.normal(size=(rows, len(FEATURE_SETS["bauer8"]))) + 0.4 * truth[:, None]
    number = np.arange(rows)
    return Labelled(
        matrix, truth, number, number, number.astype(str).astype(object), number, number
    )


def measured(name: str, rows: Labelled, splits: int) -> dict[str, Any]:
    """Measure one model on the splits by elapsed time, and on one split by processor time."""
    parts = list(random_splits(rows.truth.size, splits, seed=1))
    # Starting the workers and importing the libraries happens once, not for each split.
    repeat([Repetition(name, drawn(200), s, 0, 1, "accuracy") for s in first_of(rows)], "start")
    begin = time.perf_counter()
    scores = repeat(
        [Repetition(name, rows, s, k, TREES, "accuracy") for k, s in enumerate(parts)], name
    )
    seconds = time.perf_counter() - begin
    begin_cpu = time.process_time()
    repetition(name, rows.matrix, rows.truth, parts[0], seed=0, trees=TREES, goal="accuracy")
    cpu = time.process_time() - begin_cpu
    return {
        "model": name,
        "splits": splits,
        "cpu seconds a split": cpu,
        "minutes on free cores": cpu * SPLITS / worker_count() / 60,
        "seconds": seconds,
        "minutes for all": seconds * SPLITS / splits / 60,
        "auc": float(np.mean([part["auc"] for part in scores])),
    }


def first_of(rows: Labelled) -> list[Any]:
    """Return tiny splits, two for each worker."""
    return list(random_splits(200, 2 * worker_count(), seed=int(rows.truth.size)))


def main() -> None:
    """Measure, and print the figures with the parameters."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--full", action="store_true", help="measure all splits")
    parser.add_argument("--workers", type=int, default=2, help="processes, one core each")
    options = parser.parse_args()
    os.environ[VARIABLE] = str(options.workers)
    splits = SPLITS if options.full else PART * options.workers
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # without the cache of an earlier run
        rows = drawn(ROWS)
        table = [measured(name, rows, splits) for name in MODELS]
        os.chdir(before)
    show(
        "Table 1: 100 splits of 15,000 rows, three models",
        table,
        options.output,
        rows_of_data=ROWS,
        columns=len(FEATURE_SETS["bauer8"]),
        trees=TREES,
        workers=options.workers,
        extrapolated=not options.full,
        minutes=sum(row["minutes for all"] for row in table),
        minutes_on_free_cores=sum(row["minutes on free cores"] for row in table),
        goal_minutes=GOAL_MINUTES,
    )


if __name__ == "__main__":
    main()
