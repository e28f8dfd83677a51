"""Detectors against the verdicts of a data set (Leznik et al. 2022, Tables 6 and 7)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from barograph.detection.base import Detector
from barograph.series import Floats, Verdict
from barograph.studies.detector_benchmark.detectors import ONE_PERSON
from barograph.studies.detector_benchmark.intervals import ratio_interval
from barograph.studies.detector_benchmark.measures import MARGIN
from barograph.studies.hits import Hits, hits

TRUE, FALSE = Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE


class Triaged(NamedTuple):
    """A series and the verdict on each of its candidates."""

    series: str
    values: Floats
    verdicts: Mapping[int, Verdict]


def by_verdict(
    data: Sequence[Triaged],
    detectors: Mapping[str, Detector],
    margin: int = MARGIN,
    seed: int = 0,
) -> pd.DataFrame:
    """Return what each detector hits, by verdict, and the rates with their intervals.

    Verdicts are the people's word here, so the row of one person has no numbers.
    """
    rows = []
    for name, detector in detectors.items():
        single = [_hits(detector, one, margin) for one in data]
        rows.append({"detector": name, **_counts(single), **_rates(single, seed)})
    frame = pd.DataFrame([*rows, {"detector": ONE_PERSON}])
    counts = [*Verdict, "not annotated"]
    return frame.astype(dict.fromkeys(counts, "Int64"))


def _hits(detector: Detector, one: Triaged, margin: int) -> Hits:
    indices = [point.index for point in detector.detect(one.values)]
    return hits([(indices, one.verdicts)], margin)


def _counts(single: Sequence[Hits]) -> dict[str, int]:
    found = {str(verdict): sum(hit.found[verdict] for hit in single) for verdict in Verdict}
    return {**found, "not annotated": sum(hit.not_annotated for hit in single)}


def _rates(single: Sequence[Hits], seed: int) -> dict[str, float]:
    """Accuracy, sensitivity and specificity, each with a bootstrap interval over series."""
    counts = np.array(
        [[h.found[TRUE], h.candidates[TRUE], h.found[FALSE], h.candidates[FALSE]] for h in single],
        dtype=np.float64,
    )
    hit, true, wrong, false = counts.T
    pairs = {
        "accuracy": (hit + false - wrong, true + false),
        "sensitivity": (hit, true),
        "specificity": (false - wrong, false),
    }
    rates: dict[str, float] = {}
    for name, pair in pairs.items():
        value = ratio_interval(np.stack(pair, axis=1), np.arange(len(single)), seed)
        rates |= {name: value.mean, f"{name}, low": value.low, f"{name}, high": value.high}
    return rates
