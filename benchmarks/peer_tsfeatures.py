"""Time tsfeatures on pairs of sides: `peer_tsfeatures.py TASKS RESULTS`, both JSON files."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tsfeatures import (
    acf_features,
    crossing_points,
    entropy,
    hurst,
    lumpiness,
    stability,
    tsfeatures,
)

EIGHT = [lumpiness, stability, entropy, crossing_points, acf_features]
SETS = {"bauer8": EIGHT, "bauer9": [*EIGHT, hurst]}
SHORTEST = 10


def best(function: Callable[[], object]) -> float:
    """Return the best of three runs in microseconds."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def bare(functions: list[Any], sides: list[Any]) -> None:
    """Call the functions one by one on arrays, without scaling or a result table."""
    for x in sides:
        for function in functions:
            function(x, freq=1)


def timings(functions: list[Any], pairs: list[list[list[float]]]) -> dict[str, float]:
    """Return the microseconds per pair of the library's own call and of its bare functions."""
    sides = [np.array(x) for pair in pairs for x in pair if len(x) >= SHORTEST]
    panel = pd.concat(
        pd.DataFrame({"unique_id": str(k), "ds": np.arange(x.size), "y": x})
        for k, x in enumerate(sides)
    )
    return {
        "call": best(lambda: tsfeatures(panel, freq=1, features=functions, threads=1)) / len(pairs),
        "bare": best(lambda: bare(functions, sides)) / len(pairs),
    }


def main() -> None:
    """Time every task."""
    tasks = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    results = {
        name: {key: timings(functions, pairs) for key, functions in SETS.items()}
        for name, pairs in tasks.items()
    }
    Path(sys.argv[2]).write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main()
