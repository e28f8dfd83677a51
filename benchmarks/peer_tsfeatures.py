"""Time tsfeatures on pairs of sides: `peer_tsfeatures.py QUESTION ANSWER`, both JSON."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from tsfeatures import (
    acf_features,
    crossing_points,
    entropy,
    hurst,
    lumpiness,
    stability,
)

EIGHT = (lumpiness, stability, entropy, crossing_points, acf_features)
SETS = {"bauer8": EIGHT, "bauer9": (*EIGHT, hurst)}
SHORTEST = 10


def microseconds(functions: tuple[Any, ...], pairs: list[list[list[float]]]) -> float:
    """Return the best of three runs, per pair."""
    sides = [np.array(x) for pair in pairs for x in pair if len(x) >= SHORTEST]
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for x in sides:
            for function in functions:
                function(x, freq=1)
        best = min(best, time.perf_counter() - start)
    return best / len(pairs) * 1e6


def main() -> None:
    """Answer every question."""
    questions = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    answer = {
        name: {key: microseconds(functions, pairs) for key, functions in SETS.items()}
        for name, pairs in questions.items()
    }
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf-8")


main()
