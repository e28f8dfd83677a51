"""Run in the environment of signal-processing-algorithms: its statistic, its E-Divisive, times."""

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from signal_processing_algorithms.energy_statistics import (  # type: ignore[import-not-found]
    cext_calculator,
    energy_statistics,
)


def seconds(function: Callable[[], object], runs: int) -> float:
    """Return the median CPU time of a call, after one to warm up."""
    function()
    times = []
    for _ in range(runs):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return statistics.median(times)


def main(question_file: str, answer_file: str) -> None:
    """Time the pass over each series, and the whole detector where permutations are asked for."""
    if not cext_calculator.C_EXTENSION_LOADED:
        raise SystemExit("the C extension of signal-processing-algorithms was not built")
    question = json.loads(Path(question_file).read_text(encoding="utf-8"))
    answer = []
    for numbers in question["series"]:
        values = np.array(numbers)

        def one_pass(values: "np.ndarray[tuple[int], np.dtype[np.float64]]" = values) -> object:
            return cext_calculator.calculate_t_values(
                cext_calculator.calculate_distance_matrix(values)
            )

        row: dict[str, object] = {"statistic": np.asarray(one_pass()).tolist()}
        row["pass"] = seconds(one_pass, question["runs"])
        if question["permutations"]:
            np.random.seed(question["seed"])  # noqa: NPY002 (the peer draws from this generator)
            start = time.process_time()
            change_points = energy_statistics.e_divisive(values, 0.05, question["permutations"])
            row["whole"] = time.process_time() - start
            row["indices"] = sorted(int(index) for index in change_points)
        answer.append(row)
    Path(answer_file).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
