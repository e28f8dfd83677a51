"""Repeated runs on the same series: whether results change (Fleming et al. 2023, Tables 1, 2)."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from barograph.detection import EDivisive, Hunter
from barograph.detection.base import Detector
from barograph.learning.metrics import interval
from barograph.studies.detector_benchmark.cases import (
    ONE_PERSON,
    Case,
    Points,
    default_detectors,
)

DRAWN = 5  # runs that choose the series


def _origin(seed: int) -> EDivisive:
    """Return the permutation test that Hunter started from, with E-Divisive's limits."""
    return EDivisive(0.05, 100, seed, min_size=1)


# The paper's three variants, and the permutation test with one seed. The permutations of the paper
# were random, as with a new seed for each run.
VARIANTS: Mapping[str, Callable[[int], Detector]] = {
    "permutation": _origin,
    "permutation, one seed": lambda _: _origin(0),
    "t-test": lambda _: Hunter(weak=False),
    "t-test and weak points": lambda _: Hunter(),
}


def variants() -> dict[str, Callable[[int], Detector]]:
    """Return the paper's variants and every other detector, each made from the number of a run."""
    others = {
        name: (lambda _, detector=detector: detector)
        for name, detector in default_detectors().items()
        if not isinstance(detector, Hunter)
    }
    return {**VARIANTS, **others}


def most_disputed(cases: Sequence[Case], number: int, runs: int) -> list[Case]:
    """Return the cases on which a few runs of the permutation test disagree most.

    On most series all runs agree, and Table 2 would say nothing.

    Args:
        cases: Any cases.
        number: How many to return.
        runs: Number of runs that will be measured; their seeds are not used to choose.
    """
    seeds = range(runs, runs + DRAWN)

    def answers(case: Case) -> int:
        return len({case.detected_by(_origin(seed)) for seed in seeds})

    return sorted(cases, key=answers, reverse=True)[:number]


def repeated_runs(
    cases: Sequence[Case], runs: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run every variant on the same series several times.

    Returns:
        Two tables. Table 1 has a row per variant: the number of change points in all series (mean
        and standard deviation over the runs), the share of the series in which every run found the
        same points, and the seconds of a run with their interval. Table 2 has a row per variant,
        scenario, series and number of change points: the share of the runs that found this number.
        No person marked the same series repeatedly, so the row of one person has no numbers.
    """
    summary: list[tuple[object, ...]] = []
    distribution: list[tuple[str, str, str, int, float]] = []
    for name, make in variants().items():
        timed = [_run(make(run), cases, clock) for run in range(runs)]
        results = [result for result, _ in timed]
        totals = np.array([sum(map(len, result)) for result in results])
        same = sum(len(set(of_case)) == 1 for of_case in zip(*results, strict=True))
        spent, low, high = interval([seconds for _, seconds in timed])
        seconds = spent, max(low, 0.0), high
        summary.append((name, runs, totals.mean(), totals.std(), same / len(cases), *seconds))
        distribution += _distribution(name, cases, results)
    summary.append((ONE_PERSON, runs, *[np.nan] * 6))
    shares = pd.DataFrame(
        [*distribution, (ONE_PERSON, "all", "all", None, np.nan)], columns=DISTRIBUTION
    )
    return (
        pd.DataFrame(summary, columns=SUMMARY),
        shares.astype({"change points": "Int64"}),
    )


DISTRIBUTION = ["variant", "cases", "series", "change points", "share of runs"]
SUMMARY = [
    "variant",
    "runs",
    "change points",
    "sd",
    "series with one answer",
    "seconds",
    "seconds, low",
    "seconds, high",
]


def _run(
    detector: Detector, cases: Sequence[Case], clock: Callable[[], float]
) -> tuple[list[Points], float]:
    start = clock()
    result = [case.detected_by(detector) for case in cases]
    return result, clock() - start


def _distribution(
    name: str, cases: Sequence[Case], results: Sequence[Sequence[Points]]
) -> list[tuple[str, str, str, int, float]]:
    return [
        (name, case.scenario, case.series, number, times / len(results))
        for case, of_case in zip(cases, zip(*results, strict=True), strict=True)
        for number, times in sorted(Counter(map(len, of_case)).items())
    ]
