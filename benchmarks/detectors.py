"""Detectors beside the programs that people use: the same input, in turn, on one thread.

Peers run in environments of their own, made from their packages in a cache folder. A figure is the
median of five runs in turn with ours, a ratio the median of the five pairs. Both sides run on one
thread, and CPU time is measured: on a busy machine, elapsed time would count the waiting of the
slower side only.
"""

import functools
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from by_the_book import naive, row_and_column, with_numpy
from histories import SHARED, histories
from peers import OTAVA, SIGNAL, ask
from random_series import random_series
from side_by_side import arguments, is_missing, ratio, seconds, show

from barograph.detection import EDivisive, Hunter, detect_many, energy_statistic
from barograph.results.series import Floats

RUNS = 5
PERMUTATIONS = 100
OURS = "Barograph"
cpu_seconds = functools.partial(seconds, clock=time.process_time)


def steps(size: int, length: int, seed: int = 1) -> Floats:
    """Return noise around a level that changes every `length` points."""
    random = np.random.default_rng(seed)
    levels = np.repeat(random.normal(100, 5, -(-size // length)), length)[:size]
    return levels + random.normal(0, 1, size)


def median_seconds(function: Callable[[], object], calls: int) -> float:
    """Return the median CPU time of several calls after one to warm up."""
    function()
    return statistics.median(cpu_seconds(function) for _ in range(calls))


def rows_of(task: str, size: int, times: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Return one row for each implementation, ours last."""
    return [
        {
            "task": task,
            "n": size,
            "who": who,
            "ms": 1e3 * statistics.median(measured),
            "times ours": ratio(measured, times[OURS]),
        }
        for who, measured in times.items()
    ]


def passes(size: int, books: bool) -> tuple[list[dict[str, Any]], float]:
    """Time one pass of the statistic, and say how far it is from the C extension's."""
    values = steps(size, 35)
    series = values.tolist()
    times: dict[str, list[float]] = {}
    apart = 0.0
    for _ in range(RUNS):
        if books:
            times.setdefault("naive", []).append(cpu_seconds(lambda: naive(series)))
            times.setdefault("row and column", []).append(
                cpu_seconds(lambda: row_and_column(series))
            )
            times.setdefault("NumPy", []).append(median_seconds(lambda: with_numpy(values), 20))
        question = {"series": [series], "runs": 20, "permutations": 0, "seed": 0}
        (answer,) = ask(SIGNAL, "peer_signal.py", question)
        times.setdefault("MongoDB's library, C", []).append(answer["pass"])
        times.setdefault(OURS, []).append(median_seconds(lambda: energy_statistic(values), 50))
        theirs = np.array(answer["statistic"])
        apart = float(np.abs(energy_statistic(values) - theirs).max() / np.abs(theirs).max())
    return rows_of("one pass of the energy statistic", size, times), apart


def whole(size: int, length: int) -> list[dict[str, Any]]:
    """Time E-Divisive from the values to the change points, fresh permutations every round."""
    values = steps(size, length)
    times: dict[str, list[float]] = {}
    counts = []
    for run in range(RUNS):
        detector = EDivisive(0.05, PERMUTATIONS, seed=run, min_size=1)
        question = {
            "series": [values.tolist()],
            "runs": 1,
            "permutations": PERMUTATIONS,
            "seed": run,
        }
        (answer,) = ask(SIGNAL, "peer_signal.py", question)
        times.setdefault("MongoDB's library, C", []).append(answer["whole"])
        times.setdefault(OURS, []).append(median_seconds(lambda d=detector: d.detect(values), 3))  # type: ignore[misc]
        counts.append(f"{len(answer['indices'])}/{len(detector.detect(values))}")
    task = f"E-Divisive, a step every {length} (points found, theirs/ours: {' '.join(counts)})"
    return rows_of(task, size, times)


def hunters(size: int, length: int) -> list[dict[str, Any]]:
    """Time Hunter from the values to the change points."""
    values = steps(size, length)
    detector = Hunter(parity=True)
    times: dict[str, list[float]] = {}
    for _ in range(RUNS):
        question = {"requests": [[values.tolist(), 50, 0.001, 0.0]], "runs": 11}
        (answer,) = ask(OTAVA, "peer_otava.py", question)
        times.setdefault("Apache Otava", []).append(answer["seconds"])
        times.setdefault(OURS, []).append(median_seconds(lambda: detector.detect(values), 50))
        if answer["indices"] != [point.index for point in detector.detect(values)]:
            raise SystemExit("Hunter with parity differs from Apache Otava")
    return rows_of(f"Hunter, a step every {length}", size, times)


def identical(series: list[Floats]) -> str:
    """Compare the indices with Apache Otava's over many series."""
    question = {"requests": [[values.tolist(), 50, 0.001, 0.0] for values in series]}
    detector, same, points = Hunter(parity=True), 0, 0
    for values, answer in zip(series, ask(OTAVA, "peer_otava.py", question), strict=True):
        same += [point.index for point in detector.detect(values)] == answer["indices"]
        points += len(answer["indices"])
    return f"{same} of {len(series)} series, {points} change points"


def batch(workers: int) -> float:
    """Return the seconds for 40,000 series of 250 points through Hunter."""
    values = np.random.default_rng(2).normal(100, 1, (40_000, 250))
    values[::2, 120:] += 3
    start = time.perf_counter()
    detect_many(Hunter(), values.ravel(), np.arange(40_001) * 250, workers=workers)
    return time.perf_counter() - start


def bytes_per_point(function: Callable[[Floats], object], size: int) -> float:
    """Return the peak of the memory taken on the way, for each point of a long series."""
    values = steps(size, 5000)
    function(values)
    tracemalloc.start()
    function(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / size


def main() -> None:
    """Measure, compare and print."""
    output = arguments((__doc__ or "").splitlines()[0]).parse_args().output
    small, _ = passes(173, books=True)
    large, apart = passes(500, books=False)
    rows = small + large
    for length in (35, 250):
        rows += whole(500, length)
        rows += hunters(500, length)
    is_missing(SHARED, "Apache Otava on real histories", output)
    real = [values for _, values in histories()]
    memory = {
        f"bytes per point, {name}, n = {size}": round(bytes_per_point(function, size), 1)
        for name, function in (
            ("energy_statistic", energy_statistic),
            ("Hunter", Hunter().detect),
            ("E-Divisive", EDivisive(0.05, 19).detect),
        )
        for size in (2_000, 20_000)
    }
    show(
        "Detectors beside MongoDB's signal-processing-algorithms 2.1.6 and Apache Otava 0.8.0",
        rows,
        output,
        **{
            "largest difference from the C extension, relative to the largest value": apart,
            "Hunter(parity=True) as Apache Otava, random series": identical(random_series(300)),
            "Hunter(parity=True) as Apache Otava, real histories": identical(real),
            "seconds for 40,000 series of 250 points through Hunter, 1 thread": batch(1),
            "seconds for 40,000 series of 250 points through Hunter, 2 threads": batch(2),
            **memory,
        },
    )


if __name__ == "__main__":
    main()
