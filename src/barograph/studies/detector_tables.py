"""All tables of the comparison: on injected changes, in repeated runs, and on verdicts.

Intervals are from a bootstrap over series.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from barograph.detection import EDivisive, Hunter
from barograph.detection.base import Detector
from barograph.learning.limits import Count, Seed, WholeNumber
from barograph.learning.metrics import Interval, count, pairs, rand_index
from barograph.learning.protocols import numbered
from barograph.results.history import History
from barograph.results.series import UNKNOWN_TIME, Floats, Verdict
from barograph.runtime.errors import NotEnoughDataError
from barograph.studies.detector_cases import (
    Case,
    Points,
    calm_segments,
    default_detectors,
    injected,
)

ALL, F1 = "all", "F1"
MARGIN = 5
MARGINS = (0, 1, 2, 3, 5, 8, 10, 15, 20)
RESAMPLES = 1000
DRAWN = 5  # runs that choose the series that are run repeatedly
TRUE, FALSE = Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE
SUMMARY = ["variant", "runs", "change points", "sd", "series with one answer"]
DISTRIBUTION = ["variant", "cases", "series", "change points", "share of runs"]
Detections = Mapping[str, Sequence[Points]]  # by detector and case


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


def history_tables(history: History, size: BenchmarkSize) -> dict[str, pd.DataFrame]:
    """Return every table of the comparison for one data set, by name."""
    detectors = default_detectors()
    data = triaged_series(history, size.triaged, size.seed)
    return {
        **injection_tables(shuffled(history, size.seed), detectors, size),
        "verdicts": by_verdict(data, detectors, size.seed),
    }


def shuffled(history: History, seed: int) -> list[Case]:
    """Return all series, in an order that depends on the seed."""
    cases = []
    for k in np.random.default_rng(seed).permutation(len(history)).tolist():
        times = history.times[history.offsets[k] : history.offsets[k + 1]]
        seconds = None if (times == UNKNOWN_TIME).any() else times / 1000.0
        cases.append(Case(str(k), history.values_of(k), seconds))
    return cases


def injection_tables(
    histories: Sequence[Case], detectors: Mapping[str, Detector], size: BenchmarkSize
) -> dict[str, pd.DataFrame]:
    """Return the tables of injected changes by name.

    Raises:
        NotEnoughDataError: No history has a calm segment.
    """

    def cases_of(length: int) -> list[Case]:
        return list(injected(calm_segments(histories, length, size.segments), size.seed))

    cases = cases_of(size.length)
    if not cases:
        raise NotEnoughDataError(
            f"none of {len(histories)} histories has a calm segment of {size.length} points "
            "to inject changes into"
        )
    found = run_detectors(cases, detectors)
    scores = [measured(found, cases, together=name, seed=size.seed) for name in (None, ALL)]
    margins = [
        measured(found, cases, only=F1, margin=margin, together=str(margin), seed=size.seed)
        for margin in MARGINS
    ]
    points = []
    for length in size.lengths:
        others = cases_of(length)
        found = run_detectors(others, detectors)
        name = str(length)
        points.append(measured(found, others, only=F1, together=name, seed=size.seed))
    disputed = most_disputed(cases, size.repeats, size.runs)
    summary, distribution = repeated_runs(disputed, size.runs)
    together = {"scores": scores, "margins": margins, "points": points}
    return {
        **{name: pd.concat(parts, ignore_index=True) for name, parts in together.items()},
        "repeats": summary,
        "distribution": distribution,
    }


def measures(points: Points, case: Case, margin: int = MARGIN) -> dict[str, tuple[float, float]]:
    """Return a numerator and a denominator for every measure of what was reported on a case.

    F1 and both Rand indices are means over the series, as in Table 3 of Fleming et al. 2023. What
    they print as Rand index is TP / (TP + FP + FN).
    """
    size = case.values.size  # noqa: PD011 - not a data frame
    found = count(points, case.truth, margin)
    return {
        F1: (found.f1, 1.0),
        "Rand as printed": (found.printed_rand, 1.0),
        "Rand": (rand_index(points, case.truth, size), 1.0),
        "precision": (found.tp, found.tp + found.fp),
        "recall": (found.tp, found.tp + found.fn),
        "false alarms per 1000": (found.fp, size / 1000),
    }


def run_detectors(cases: Sequence[Case], detectors: Mapping[str, Detector]) -> Detections:
    """Run every detector on every case."""
    return {
        name: [case.detected_by(detector) for case in cases] for name, detector in detectors.items()
    }


def measured(
    detections: Detections,
    cases: Sequence[Case],
    *,
    only: str | None = None,
    margin: int = MARGIN,
    together: str | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Return every measure of every detector with its interval, one row each.

    Args:
        detections: Results of `run_detectors` for the same cases.
        cases: The cases.
        only: The name of the only measure that is returned.
        margin: The largest distance, in points, at which a reported point counts as a change.
        together: The name of all cases together; by default they are grouped by scenario.
        seed: Seed of the bootstrap over series.
    """
    labels = [case.scenario if together is None else together for case in cases]
    series = numbered([case.series for case in cases])
    rows = []
    for label in dict.fromkeys(labels):
        chosen = [k for k, other in enumerate(labels) if other == label]
        for detector, results in detections.items():
            table = pd.DataFrame([measures(results[k], cases[k], margin) for k in chosen])
            for name in table if only is None else [only]:
                ratios = np.array(table[name].tolist(), dtype=np.float64)
                value = ratio_interval(ratios, series[chosen], seed)
                rows.append((label, detector, name, len(np.unique(series[chosen])), *value))
    columns = ["cases", "detector", "measure", "series", *Interval._fields]
    return pd.DataFrame(rows, columns=columns)


def ratio_interval(ratios: Floats, series: npt.ArrayLike, seed: int) -> Interval:
    """Return sum / sum with its 95 % percentile interval over resampled series.

    Cases of one series are not independent, so they are drawn together. The result is NaN without
    cases, or if all denominators are 0.

    Args:
        ratios: Numerator and denominator of each case.
        series: The series of each case.
        seed: The same for every detector, so that all are compared on the same resamples.
    """
    if not ratios[:, 1].any():
        return Interval(np.nan, np.nan, np.nan)
    groups = numbered(np.asarray(series))
    size = int(groups.max()) + 1
    sums = np.stack([np.bincount(groups, weights=ratios[:, side]) for side in (0, 1)])
    draws = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), RESAMPLES)
    top, bottom = draws @ sums[0], draws @ sums[1]
    quotients = top[bottom > 0.0] / bottom[bottom > 0.0]
    low, high = np.percentile(quotients, [2.5, 97.5])
    return Interval(float(sums[0].sum() / sums[1].sum()), float(low), float(high))


def _origin(seed: int) -> EDivisive:
    """Return the permutation test that Hunter started from, with E-Divisive's limits."""
    return EDivisive(0.05, 100, seed, min_size=1)


def variants() -> dict[str, Callable[[int], Detector]]:
    """Return the paper's variants and every other detector, each made from the number of a run.

    The paper has three variants. Its permutations were random, as with a new seed for each run;
    one more variant has the same seed in every run.
    """
    others = {
        name: (lambda _, detector=detector: detector)
        for name, detector in default_detectors().items()
        if not isinstance(detector, Hunter)
    }
    return {
        "permutation": _origin,
        "permutation, one seed": lambda _: _origin(0),
        "t-test": lambda _: Hunter(weak=False),
        "t-test and weak points": lambda _: Hunter(),
        **others,
    }


def most_disputed(cases: Sequence[Case], number: int, runs: int) -> list[Case]:
    """Return the cases on which a few runs of the permutation test disagree most.

    On most series all runs agree, and Table 2 would say nothing.

    Args:
        cases: Any cases.
        number: How many to return.
        runs: Number of runs that will be measured; their seeds are not used to choose.
    """
    tests = [_origin(seed) for seed in range(runs, runs + DRAWN)]
    answers = [len({case.detected_by(test) for test in tests}) for case in cases]
    order = sorted(range(len(cases)), key=lambda k: answers[k], reverse=True)
    return [cases[k] for k in order[:number]]


def repeated_runs(cases: Sequence[Case], runs: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Run every variant on the same series several times.

    Returns:
        Two tables. Table 1 has a row per variant: the number of change points in all series (mean
        and standard deviation over the runs), and the share of the series in which every run found
        the same points. Table 2 has a row per variant, scenario, series and number of change
        points: the share of the runs that found this number.
    """
    summary: list[tuple[object, ...]] = []
    distribution: list[tuple[object, ...]] = []
    for name, make in variants().items():
        results = [[case.detected_by(make(run)) for run in range(runs)] for case in cases]
        numbers = np.array([list(map(len, answers)) for answers in results])
        totals = numbers.sum(axis=0)
        same = sum(len(set(answers)) == 1 for answers in results)
        summary.append((name, runs, totals.mean(), totals.std(), same / len(cases)))
        distribution += [
            (name, case.scenario, case.series, number, times / runs)
            for case, counted in zip(cases, numbers.tolist(), strict=True)
            for number, times in sorted(Counter(counted).items())
        ]
    return pd.DataFrame(summary, columns=SUMMARY), pd.DataFrame(distribution, columns=DISTRIBUTION)


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


class VerdictHits(NamedTuple):
    """How many candidates of each verdict were found in a series, of how many.

    `not_annotated` counts the points that were found where there is no candidate.
    """

    hits: Counter[Verdict]
    candidates: Counter[Verdict]
    not_annotated: int


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
            count_hits((point.index for point in detector.detect(values)), verdicts)
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
    counts = [
        (h.hits[TRUE], h.candidates[TRUE], h.hits[FALSE], h.candidates[FALSE]) for h in single
    ]
    hit, true, wrong, false = np.array(counts, dtype=np.float64).reshape(-1, 4).T
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
