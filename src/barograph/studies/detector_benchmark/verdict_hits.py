"""Detectors against the verdicts of a data set (Leznik et al. 2022, Tables 6 and 7)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from barograph.detection.base import Detector
from barograph.learning.matching import pairs
from barograph.results.series import Floats, Verdict
from barograph.studies.detector_benchmark.cases import ONE_PERSON
from barograph.studies.detector_benchmark.measures import MARGIN, ratio_interval

TRUE, FALSE = Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE


class TriagedSeries(NamedTuple):
    """A series and the verdict on each of its candidates, by index."""

    series: str
    values: Floats
    verdicts: Mapping[int, Verdict]


class VerdictHits(NamedTuple):
    """How many candidates of each verdict were found in a series, of how many.

    `not_annotated` counts the points that were found where there is no candidate.
    """

    hits: Counter[Verdict]
    candidates: Counter[Verdict]
    not_annotated: int


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


def by_verdict(
    data: Sequence[TriagedSeries], detectors: Mapping[str, Detector], seed: int = 0
) -> pd.DataFrame:
    """Return the hits of each detector by verdict, and the rates with their intervals.

    The verdicts are the people's own, so the row of one person has no numbers.
    """
    rows = []
    for name, detector in detectors.items():
        single = [
            count_hits([point.index for point in detector.detect(part.values)], part.verdicts)
            for part in data
        ]
        rows.append({"detector": name, **_counts(single), **rates(single, seed)})
    frame = pd.DataFrame([*rows, {"detector": ONE_PERSON}])
    counts = [*Verdict, "not annotated"]
    return frame.astype(dict.fromkeys(counts, "Int64"))


def _counts(single: Sequence[VerdictHits]) -> dict[str, int]:
    hits = {str(verdict): sum(hit.hits[verdict] for hit in single) for verdict in Verdict}
    return {**hits, "not annotated": sum(hit.not_annotated for hit in single)}


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
