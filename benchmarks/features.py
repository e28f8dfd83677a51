"""The time of the characteristics of one candidate, compared with tsfeatures on the same series.

The figures are for one core, per pair of sides, with `feature_matrix` over 2,000 pairs, the best of
seven alternating runs. The entropy of white noise is cheap, because its best order is often 0, so
autocorrelated series are measured too. tsfeatures runs in a separate process, because its import is
slow and changes `warnings`. It computes the characteristics that it has, on sides of ten values or
more: with its own call over all series, and with its bare functions on arrays. Its Hurst exponent
is a rescaled range, not a fit.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from side_by_side import arguments, paired, show

from barograph.features import FEATURE_SETS, feature_matrix
from barograph.results.series import Floats, Ints

PAIRS = 2000
PEER_PAIRS = 20
HERE = Path(__file__).resolve().parent
SHAPES = [(10, 1), (100, 1), (200, 50), (1000, 1)]
# Microseconds allowed per pair.
ALLOWED = {
    ("bauer8", 100): 12,
    ("bauer8", 200): 30,
    ("bauer8", 1000): 100,
    ("bauer9", 100): 55,
    ("bauer9", 200): 160,
    ("bauer9", 1000): 700,
}


def series(kind: str, size: int = 60_000) -> Floats:
    """Return noise around 100, independent or autocorrelated."""
    noise = np.random.default_rng(1).normal(size=size)
    if kind == "autocorrelated":
        for t in range(2, size):
            noise[t] += 0.8 * noise[t - 1] - 0.1 * noise[t - 2]
    return noise + 100.0


def bounds(size: int, pre: int, after: int, pairs: int = PAIRS) -> tuple[Ints, Ints, Ints]:
    """Return the bounds of random pairs of one shape."""
    starts = np.random.default_rng(2).integers(0, size - pre - after, pairs)
    return starts, starts + pre, starts + pre + after


def microseconds(values: Floats, shape: tuple[int, int], feature_set: str, pairs: int) -> float:
    """Return the microseconds per pair of one set on one shape."""
    where = bounds(values.size, *shape, pairs)
    times = paired({"": lambda: feature_matrix(values, *where, feature_set, threads=1)}, runs=7)
    return min(times[""]) / pairs * 1e6


def peer(values: dict[str, Floats]) -> dict[str, dict[str, dict[str, float]]]:
    """Time tsfeatures on the same pairs: kind and shape -> set -> way -> microseconds per pair."""
    tasks = {
        f"{kind} {pre} {after}": [
            [x[start:split].tolist(), x[split:end].tolist()]
            for start, split, end in zip(*bounds(x.size, pre, after, PEER_PAIRS), strict=True)
        ]
        for kind, x in values.items()
        for pre, after in SHAPES
    }
    with tempfile.TemporaryDirectory() as folder:
        task_file, result_file = Path(folder) / "tasks.json", Path(folder) / "results.json"
        task_file.write_text(json.dumps(tasks), encoding="utf-8")
        script = str(HERE / "peer_tsfeatures.py")
        command = [sys.executable, "-W", "ignore", script, str(task_file), str(result_file)]
        environment = dict(os.environ) | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        subprocess.run(command, check=True, env=environment, stdout=sys.stderr)
        results: dict[str, dict[str, dict[str, float]]] = json.loads(
            result_file.read_text(encoding="utf-8")
        )
        return results


def rows(values: dict[str, Floats]) -> list[dict[str, Any]]:
    """Return the rows of the table: our times and those of tsfeatures."""
    theirs = peer(values)
    table = []
    for feature_set in ("bauer8", "bauer9"):
        for kind, x in values.items():
            for pre, after in SHAPES:
                ours = microseconds(x, (pre, after), feature_set, PAIRS)
                other = theirs[f"{kind} {pre} {after}"][feature_set]
                table.append(
                    {
                        "set": feature_set,
                        "series": kind,
                        "pre, after": f"{pre}, {after}",
                        "us": ours,
                        "allowed": ALLOWED.get((feature_set, pre), "-"),
                        "tsfeatures us": other["call"],
                        "ratio": other["call"] / ours,
                        "bare functions us": other["bare"],
                        "their ratio": other["bare"] / ours,
                    }
                )
    return table


def growth(x: Floats) -> dict[str, list[float]]:
    """Return the time per pair at 1000 to 8000 values, divided by that at half the length."""
    result = {}
    for feature_set in ("bauer8", "bauer9"):
        times = [microseconds(x, (n, 1), feature_set, 100) for n in (500, 1000, 2000, 4000, 8000)]
        result[feature_set] = [round(b / a, 2) for a, b in itertools.pairwise(times)]
    return result


def others(x: Floats) -> dict[str, float]:
    """Return the times of the other sets at (100, 1)."""
    names = [name for name in FEATURE_SETS if name not in ("bauer8", "bauer9")]
    return {name: round(microseconds(x, (100, 1), name, 50), 1) for name in names}


def main() -> None:
    """Print the table."""
    output = arguments(__doc__ or "").parse_args().output
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    values = {kind: series(kind) for kind in ("white", "autocorrelated")}
    start = time.perf_counter()
    feature_matrix(values["white"], [0], [50], [60])
    first = time.perf_counter() - start
    x = values["autocorrelated"]
    extra = {
        "first call, s": round(first, 2),
        "time at twice the length, from 500 to 8000": growth(x),
        "other sets at 100, 1, us": others(x),
    }
    show("Characteristics of one candidate, per pair on one core", rows(values), output, **extra)


if __name__ == "__main__":
    main()
