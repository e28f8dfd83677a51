"""The speed of what users wait for: characteristics, detectors, models, replay, and commands.

Functions are timed on one thread in CPU seconds, so that a busy machine counts less. Commands are
timed on the clock, as separate processes, on 1,000 series of 200 commits.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from side_by_side import arguments, seconds, show
from store import model as forest_of

from barograph.detection import EDivisive, Hunter, detect_many
from barograph.detection.online import OnlineDetector, PendingSeries, make_judge
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.models import OnlineModels
from barograph.results.series import Floats

PAIRS = 2000  # of sides, in one call of `feature_matrix`
SHAPES = ((10, 1), (100, 1), (200, 50), (1000, 1))  # sizes of the two sides
SIZE = 500  # points of the series of the detectors
SHORT, HISTORY = 28, 100  # points of a replayed history, and before a timed decision
REPLAYED, DECISIONS = 20_000, 400
SERIES, COMMITS = 1000, 200


def cpu(function: Callable[[], object], runs: int = 7) -> float:
    """Return the least CPU time of several calls, after one to warm up."""
    function()
    return min(seconds(function, time.process_time) for _ in range(runs))


def steps(size: int, length: int, seed: int = 1) -> Floats:
    """Return noise around a level that changes every `length` points."""
    random = np.random.default_rng(seed)
    levels = np.repeat(random.normal(100, 5, -(-size // length)), length)[:size]
    return levels + random.normal(0, 1, size)


def features() -> dict[str, float]:
    """Time the characteristics of a candidate: small sets at every shape, the others at one."""
    noise = np.random.default_rng(1).normal(size=60_000)
    for t in range(2, noise.size):
        noise[t] += 0.8 * noise[t - 1] - 0.1 * noise[t - 2]
    tasks = [(name, shape) for name in ("bauer8", "bauer9") for shape in SHAPES]
    tasks += [(name, (100, 1)) for name in FEATURE_SETS if (name, (100, 1)) not in tasks]
    figures = {}
    for name, (pre, after) in tasks:
        count = PAIRS if name.startswith("bauer") else 50
        starts = np.random.default_rng(2).integers(0, noise.size - pre - after, count)
        splits = starts + pre
        run = partial(feature_matrix, noise, starts, splits, splits + after, name, threads=1)
        figures[f"features {name}, sides of {pre} and {after}, us"] = 1e6 * cpu(run) / count
    return figures


def detectors() -> dict[str, float]:
    """Time Hunter and E-Divisive on a series with many changes and on one with few."""
    figures = {}
    for name, detector in (("Hunter", Hunter()), ("E-Divisive", EDivisive(0.05, 100, min_size=1))):
        for length in (35, 250):
            run = partial(detector.detect, steps(SIZE, length))
            figures[f"{name}, {SIZE} points, a step every {length}, ms"] = 1e3 * cpu(run)
    values = np.random.default_rng(2).normal(100, 1, (40_000, 250))
    values[::2, 120:] += 3
    offsets = np.arange(len(values) + 1) * values.shape[1]
    figures["Hunter, 40,000 series of 250 points, 2 threads, s on the clock"] = seconds(
        lambda: detect_many(Hunter(), values.ravel(), offsets, workers=2)
    )
    return figures


def models() -> dict[str, float]:
    """Time the probability of a row by a forest of 500 trees, alone and among many."""
    forest = forest_of(500).newest
    rows = np.random.default_rng(4).normal(size=(10_000, len(forest.columns)))
    single = [rows[k : k + 1] for k in range(100)]
    return {
        "forest of 500 trees, one row, us": 1e4
        * cpu(lambda: [forest.predict_proba(row) for row in single]),
        "forest of 500 trees, 10,000 rows, us a row": 1e2 * cpu(lambda: forest.predict_proba(rows)),
    }


def online() -> dict[str, float]:
    """Time single decisions of the built-in pair, and its replay of short histories."""
    random = np.random.default_rng(5)
    took = []
    for values in random.normal(100.0, 1.0, (DECISIONS, HISTORY + 1)).tolist():
        detector = OnlineDetector()
        detector.update_many(values[:HISTORY])
        took.append(seconds(partial(detector.update, values[HISTORY])))
    judge = make_judge(OnlineModels.default())
    histories = list(random.normal(100.0, 1.0, (REPLAYED, SHORT)))
    for values in histories[::2]:
        values[SHORT // 2 :] += random.normal(scale=6.0)
    pending = [PendingSeries(values, 0) for values in histories]
    used = cpu(lambda: judge.judge(pending), runs=1)
    return {
        f"one decision after {HISTORY} points, median, us": 1e6 * statistics.median(took),
        f"one decision after {HISTORY} points, p99, us": 1e6 * float(np.quantile(took, 0.99)),
        f"replay of histories of {SHORT} points, points/s": REPLAYED * SHORT / used,
    }


def table(path: Path, runs: int) -> Path:
    """Write a history with some runs of each commit."""
    random = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        file.write("project,test,order,commit,run,direction,value\n")
        for series in range(SERIES):
            values = 100 + random.standard_normal((COMMITS, runs))
            for order, row in enumerate(values.tolist()):
                for run, value in enumerate(row):
                    file.write(f"p,t{series},{order},c{order},{run or ''},-1,{value}\n")
    return path


def commands() -> dict[str, float]:
    """Time the commands; `score` gets all commits in an empty store."""
    figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        once, thrice = table(folder / "once.csv", 1), table(folder / "thrice.csv", 3)
        for what, *words in (
            ("detect", "detect", str(once)),
            ("gate", "gate", str(once)),
            ("gate, 3 runs of each commit", "gate", str(thrice)),
        ):
            call = partial(command, *words)
            call()
            figures[f"{what}, s"] = min(seconds(call) for _ in range(3))
        stores = (str(folder / f"{number}.db") for number in range(3))
        scored = [seconds(partial(command, "score", str(once), "--store", s)) for s in stores]
        figures["score, s"] = min(scored)
    return figures


def command(*words: str) -> None:
    """Run a command, whose verdict may be a regression or a suspect."""
    line = [sys.executable, "-m", "barograph", *words]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    if done.returncode not in (0, 2, 4):
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")


PARTS: dict[str, Callable[[], dict[str, float]]] = {
    part.__name__: part for part in (features, detectors, models, online, commands)
}


def main() -> None:
    """Time the parts that are named, or all."""
    parser = arguments(__doc__ or "")
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}; all by default")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown parts: {', '.join(sorted(unknown))}; allowed: {', '.join(PARTS)}")
    rows: list[dict[str, Any]] = []
    for name in options.parts or PARTS:
        rows += [{"what": what, "value": value} for what, value in PARTS[name]().items()]
    show("Speed", rows, options.output, load=os.getloadavg()[0])


if __name__ == "__main__":
    main()
