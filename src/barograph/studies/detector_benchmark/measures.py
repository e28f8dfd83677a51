"""The measures of the tables, and their bootstrap intervals over series."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from barograph.detection.base import Detector
from barograph.learning.matching import count, rand_index
from barograph.learning.metrics import Interval
from barograph.learning.protocols import numbered
from barograph.results.series import Floats
from barograph.studies.detector_benchmark.cases import Case, Points

MARGIN = 5
MARGINS = (0, 1, 2, 3, 5, 8, 10, 15, 20)
RESAMPLES = 1000


Detections = Mapping[str, Sequence[Points]]  # by detector and case
# (reported points, case) -> a numerator and a denominator
Measure = Callable[[Points, Case], tuple[float, float]]


def run_detectors(cases: Sequence[Case], detectors: Mapping[str, Detector]) -> Detections:
    """Run every detector on every case."""
    return {
        name: [case.detected_by(detector) for case in cases] for name, detector in detectors.items()
    }


def measured(
    detections: Detections,
    cases: Sequence[Case],
    measures: Mapping[str, Measure],
    by: Sequence[str] | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Return every measure of every detector with its interval, one row each.

    Args:
        detections: Results of `run_detectors` for the same cases.
        cases: The cases.
        measures: The measures by name.
        by: One label per case, by which the table groups the cases; their scenarios by default.
        seed: Seed of the bootstrap over series.
    """
    labels = [case.scenario for case in cases] if by is None else list(by)
    series = numbered([case.series for case in cases])
    rows = []
    for label in dict.fromkeys(labels):
        chosen = [k for k, other in enumerate(labels) if other == label]
        for name, results in detections.items():
            for measure, function in measures.items():
                ratios = np.array(
                    [function(results[k], cases[k]) for k in chosen], dtype=np.float64
                )
                value = ratio_interval(ratios, series[chosen], seed)
                rows.append((label, name, measure, len(np.unique(series[chosen])), *value))
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


def scores(margin: int = MARGIN) -> dict[str, Measure]:
    """Return the measures of the table of scores, by the names of its columns."""
    return {
        "F1": partial(f1, margin=margin),
        "Rand as printed": partial(printed_rand, margin=margin),
        "Rand": rand,
        "precision": partial(precision, margin=margin),
        "recall": partial(recall, margin=margin),
        "false alarms per 1000": partial(false_alarms, margin=margin),
    }


def f1(points: Points, case: Case, margin: int) -> tuple[float, float]:
    """The mean of the F1 of the series, as in Table 3 of Fleming et al. 2023."""
    return count(points, case.truth, margin).f1, 1.0


def printed_rand(points: Points, case: Case, margin: int) -> tuple[float, float]:
    """The mean of what Fleming et al. print as Rand index, TP / (TP + FP + FN)."""
    return count(points, case.truth, margin).printed_rand, 1.0


def rand(points: Points, case: Case) -> tuple[float, float]:
    """The mean of the true Rand index of the segmentations."""
    return rand_index(points, case.truth, case.size), 1.0


def precision(points: Points, case: Case, margin: int) -> tuple[float, float]:
    """The share of all alarms that are true."""
    counts = count(points, case.truth, margin)
    return float(counts.tp), float(counts.tp + counts.fp)


def recall(points: Points, case: Case, margin: int) -> tuple[float, float]:
    """The share of all changes that are found."""
    counts = count(points, case.truth, margin)
    return float(counts.tp), float(counts.tp + counts.fn)


def false_alarms(points: Points, case: Case, margin: int) -> tuple[float, float]:
    """The number of false alarms per thousand points."""
    return float(count(points, case.truth, margin).fp), case.size / 1000
