"""All tables of the comparison: on injected changes, in repeated runs, and on verdicts."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from barograph.detection import EDivisive, Hunter
from barograph.detection.base import Detector
from barograph.learning.limits import Count, Seed, WholeNumber
from barograph.learning.matching import pairs
from barograph.results.history import History
from barograph.results.series import UNKNOWN_TIME, Floats, Verdict
from barograph.runtime.errors import NotEnoughDataError
from barograph.studies.detector_benchmark.cases import Case, Points, default_detectors
from barograph.studies.detector_benchmark.injection import Segment, calm_segments, injected
from barograph.studies.detector_benchmark.measures import (
    MARGIN,
    MARGINS,
    Detections,
    f1,
    measured,
    ratio_interval,
    run_detectors,
    scores,
)

ALL = "all"
DRAWN = 5  # runs that choose the series that are run repeatedly
TRUE, FALSE = Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE
SUMMARY = ["variant", "runs", "change points", "sd", "series with one answer"]
DISTRIBUTION = ["variant", "cases", "series", "change points", "share of runs"]


@dataclass(frozen=True)
class BenchmarkSize:
    """The size of the comparison.

    Attributes:
        segments: The largest number of calm segments that changes are injected into.
        length: The number of points of each segment.
        lengths: The numbers of points in the table of F1 by number of points.
        repeats: The number of series that are run repeatedly.
        runs: The number of runs on each of them.
        triaged: The largest number of triaged series whose verdicts are used.
        seed: Seed of the changes and of the bootstraps.
    """

    segments: Count = 40
    length: Count = 120
    lengths: tuple[Count, ...] = (30, 60, 120, 240)
    repeats: Count = 5
    runs: Count = 30
    triaged: WholeNumber = 200
    seed: Seed = 0


class VerdictHits(NamedTuple):
    """How many candidates of each verdict were found in a series, of how many.

    `not_annotated` counts the points that were found where there is no candidate.
    """

    hits: Counter[Verdict]
    candidates: Counter[Verdict]
    not_annotated: int


def history_tables(history: History, size: BenchmarkSize) -> dict[str, pd.DataFrame]:
    """Return every table of the comparison for one data set, by name."""
    detectors = default_detectors()
    data = triaged_series(history, size.triaged, size.seed)
    return {
        **injection_tables(segments(history, size.seed), detectors, size),
        "verdicts": by_verdict(data, detectors, size.seed),
    }


def injection_tables(
    histories: Sequence[Segment], detectors: Mapping[str, Detector], size: BenchmarkSize
) -> dict[str, pd.DataFrame]:
    """Return the tables of injected changes by name.

    Raises:
        NotEnoughDataError: No history has a calm segment.
    """
    segments = calm_segments(histories, size.length, size.segments)
    if not segments:
        raise NotEnoughDataError(
            f"none of {len(histories)} histories has a calm segment of {size.length} points "
            "to inject changes into"
        )
    cases = list(injected(segments, size.seed))
    detections = run_detectors(cases, detectors)
    disputed = most_disputed(cases, size.repeats, size.runs)
    summary, distribution = repeated_runs(disputed, size.runs)
    return {
        "scores": score_table(detections, cases, size.seed),
        "margins": by_margin(detections, cases, size.seed),
        "points": by_points(histories, detectors, size),
        "repeats": summary,
        "distribution": distribution,
    }


def score_table(detections: Detections, cases: Sequence[Case], seed: int) -> pd.DataFrame:
    """Return every score by scenario, and over all scenarios."""
    split = measured(detections, cases, scores(), seed=seed)
    together = measured(detections, cases, scores(), [ALL] * len(cases), seed)
    return pd.concat([split, together], ignore_index=True)


def by_margin(detections: Detections, cases: Sequence[Case], seed: int) -> pd.DataFrame:
    """Return F1 by the margin of error (Fleming et al. 2023, Figure 4)."""
    frames = []
    for margin in MARGINS:
        measures = {"F1": partial(f1, margin=margin)}
        frames.append(measured(detections, cases, measures, [str(margin)] * len(cases), seed))
    return pd.concat(frames, ignore_index=True)


def by_points(
    histories: Sequence[Segment], detectors: Mapping[str, Detector], size: BenchmarkSize
) -> pd.DataFrame:
    """Return F1 by the number of points of the series (Fleming et al. 2023, Figure 3)."""
    frames = []
    for length in size.lengths:
        cases = list(injected(calm_segments(histories, length, size.segments), size.seed))
        detections = run_detectors(cases, detectors)
        measures = {"F1": partial(f1, margin=MARGIN)}
        labels = [str(length)] * len(cases)
        frames.append(measured(detections, cases, measures, labels, size.seed))
    return pd.concat(frames, ignore_index=True)


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


def repeated_runs(cases: Sequence[Case], runs: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run every variant on the same series several times.

    Returns:
        Two tables. Table 1 has a row per variant: the number of change points in all series (mean
        and standard deviation over the runs), and the share of the series in which every run found
        the same points. Table 2 has a row per variant, scenario, series and number of change
        points: the share of the runs that found this number.
    """
    summary: list[tuple[object, ...]] = []
    distribution: list[tuple[str, str, str, int, float]] = []
    for name, make in variants().items():
        results = [[case.detected_by(make(run)) for case in cases] for run in range(runs)]
        totals = np.array([sum(map(len, result)) for result in results])
        same = sum(len(set(of_case)) == 1 for of_case in zip(*results, strict=True))
        summary.append((name, runs, totals.mean(), totals.std(), same / len(cases)))
        distribution += _distribution(name, cases, results)
    return (
        pd.DataFrame(summary, columns=SUMMARY),
        pd.DataFrame(distribution, columns=DISTRIBUTION),
    )


def _distribution(
    name: str, cases: Sequence[Case], results: Sequence[Sequence[Points]]
) -> list[tuple[str, str, str, int, float]]:
    return [
        (name, case.scenario, case.series, number, times / len(results))
        for case, of_case in zip(cases, zip(*results, strict=True), strict=True)
        for number, times in sorted(Counter(map(len, of_case)).items())
    ]


def segments(history: History, seed: int) -> list[Segment]:
    """Return all series, in an order that depends on the seed."""
    order = np.random.default_rng(seed).permutation(len(history))
    return [Segment(str(k), history.values_of(k), _times(history, k)) for k in order.tolist()]


def _times(history: History, number: int) -> Floats | None:
    times = history.times[history.offsets[number] : history.offsets[number + 1]]
    return None if (times == UNKNOWN_TIME).any() else times / 1000.0


def triaged_series(
    history: History, limit: int, seed: int
) -> list[tuple[Floats, dict[int, Verdict]]]:
    """Return the values of at most `limit` series with a decided candidate, and all verdicts."""
    verdicts: dict[int, dict[int, Verdict]] = {}
    table = history.candidates
    columns = table.series, table.index, table.verdict
    for series, index, verdict in zip(*(column.tolist() for column in columns), strict=True):
        verdicts.setdefault(series, {})[index] = Verdict(verdict)
    decided = [k for k, by_index in verdicts.items() if any(v.is_final for v in by_index.values())]
    order = np.random.default_rng(seed).permutation(sorted(decided))[:limit]
    return [(history.values_of(k), verdicts[k]) for k in order.tolist()]


def by_verdict(
    data: Sequence[tuple[Floats, Mapping[int, Verdict]]],
    detectors: Mapping[str, Detector],
    seed: int = 0,
) -> pd.DataFrame:
    """Return the hits of each detector by verdict, and the rates with their intervals.

    Args:
        data: The values of each series, and the verdict of every candidate by its index.
        detectors: The detectors by name.
        seed: Seed of the bootstrap over series.
    """
    rows: list[dict[str, object]] = []
    for name, detector in detectors.items():
        single = [
            count_hits([point.index for point in detector.detect(values)], verdicts)
            for values, verdicts in data
        ]
        counts = {str(verdict): sum(hit.hits[verdict] for hit in single) for verdict in Verdict}
        counts["not annotated"] = sum(hit.not_annotated for hit in single)
        rows.append({"detector": name, **counts, **rates(single, seed)})
    return pd.DataFrame(rows)


def count_hits(
    indices: Iterable[int], verdicts: Mapping[int, Verdict], margin: int = MARGIN
) -> VerdictHits:
    """Count the points found in a series by the verdict of the candidate they match.

    Args:
        indices: The points that were found.
        verdicts: The verdict of every candidate by its index.
        margin: The largest distance of a match, in points; each candidate is matched once.
    """
    points = set(indices)
    matched = pairs(points, verdicts, margin)
    hits = Counter(verdicts[candidate] for _, candidate in matched)
    return VerdictHits(hits, Counter(verdicts.values()), len(points) - len(matched))


def rates(single: Sequence[VerdictHits], seed: int) -> dict[str, float]:
    """Return accuracy, sensitivity and specificity, each with a bootstrap interval over series.

    Table 7 prints the predictive values 4691/6801 and 6231/8530 under the names of sensitivity and
    specificity. These rates follow the definitions.
    """
    counts = np.array(
        [[h.hits[TRUE], h.candidates[TRUE], h.hits[FALSE], h.candidates[FALSE]] for h in single],
        dtype=np.float64,
    ).reshape(-1, 4)
    hit, true, wrong, false = counts.T
    ratios = {
        "accuracy": (hit + false - wrong, true + false),
        "sensitivity": (hit, true),
        "specificity": (false - wrong, false),
    }
    named: dict[str, float] = {}
    for name, ratio in ratios.items():
        value = ratio_interval(np.stack(ratio, axis=1), np.arange(len(single)), seed)
        named |= {name: value.mean, f"{name}, low": value.low, f"{name}, high": value.high}
    return named
