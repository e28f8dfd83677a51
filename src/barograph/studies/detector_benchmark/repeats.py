"""The same series again and again: do the answers stay? (Fleming et al. 2023, Tables 1 and 2)."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from barograph.detection import Hunter
from barograph.detection.base import Detector
from barograph.evaluation.metrics import interval
from barograph.studies.detector_benchmark.cases import Case, Points
from barograph.studies.detector_benchmark.detectors import ONE_PERSON, contenders


def _origin(seed: int) -> Hunter:
    """The permutation test that Hunter started from, with E-Divisive's own limits."""
    return Hunter(pvalue=0.05, test="permutation", permutations=100, seed=seed)


# The paper's three variants. A new seed each run is what the paper's random permutations were;
# with one seed, ours repeat themselves.
VARIANTS: Mapping[str, Callable[[int], Detector]] = {
    "permutation": _origin,
    "permutation, one seed": lambda _: _origin(0),
    "t-test": lambda _: Hunter(weak=False),
    "t-test and weak points": lambda _: Hunter(),
}


def variants() -> dict[str, Callable[[int], Detector]]:
    """Return the paper's variants, and every other detector of the ground."""
    others = {
        name: (lambda _, one=one: one)
        for name, one in contenders().items()
        if not isinstance(one, Hunter)
    }
    return {**VARIANTS, **others}


def repeated(
    cases: Sequence[Case], runs: int, clock: Callable[[], float] = time.perf_counter
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run every variant on the same series several times.

    Returns:
        Table 1: a row a variant with the number of change points in all series (mean and standard
        deviation over the runs), in how many series every run found the same points, and the
        seconds a run with their interval. Table 2: a row for each variant, series and number of
        change points, with the share of the runs that found so many. Nobody marked the same series
        again and again, so the row of one person has no numbers.
    """
    summary: list[tuple[object, ...]] = []
    distribution: list[tuple[str, str, int, float]] = []
    for name, make in variants().items():
        timed = [_run(make(run), cases, clock) for run in range(runs)]
        answers = [answer for answer, _ in timed]
        totals = np.array([sum(map(len, answer)) for answer in answers])
        same = sum(len(set(of_one)) == 1 for of_one in zip(*answers, strict=True))
        spent, low, high = interval([seconds for _, seconds in timed])
        seconds = spent, max(low, 0.0), high
        summary.append((name, runs, totals.mean(), totals.std(), same / len(cases), *seconds))
        distribution += _distribution(name, cases, answers)
    summary.append((ONE_PERSON, runs, *[np.nan] * 6))
    shares = pd.DataFrame([*distribution, (ONE_PERSON, "all", None, np.nan)], columns=DISTRIBUTION)
    return (
        pd.DataFrame(summary, columns=SUMMARY),
        shares.astype({"change points": "Int64"}),
    )


DISTRIBUTION = ["variant", "series", "change points", "share of runs"]
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
    answer = [case.found_by(detector) for case in cases]
    return answer, clock() - start


def _distribution(
    name: str, cases: Sequence[Case], answers: Sequence[Sequence[Points]]
) -> list[tuple[str, str, int, float]]:
    return [
        (name, case.series, number, times / len(answers))
        for case, of_one in zip(cases, zip(*answers, strict=True), strict=True)
        for number, times in sorted(Counter(map(len, of_one)).items())
    ]
