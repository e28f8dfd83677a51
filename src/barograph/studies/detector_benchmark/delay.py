"""The number of results after a change that a detector needs to report it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from barograph.detection.base import Detector
from barograph.evaluation.protocols import numbered
from barograph.series import Floats
from barograph.studies.detector_benchmark.cases import ONE_PERSON, Case
from barograph.studies.detector_benchmark.measures import MARGIN, ratio_interval

WAITS = (0, 1, 2, 3, 5, 8, 13, 20)


def delays(
    cases: Sequence[Case],
    detectors: Mapping[str, Detector],
    *,
    waits: Sequence[int] = WAITS,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the share of changes that are reported within each number of further results.

    A detector sees the series up to its first change and `wait` more points. A change counts from
    the first wait at which it is reported within `MARGIN`, even if a later run drops it again.
    People saw each whole series, so their row has no numbers.
    """
    series = numbered([case.series for case in cases])
    rows: list[tuple[object, ...]] = []
    for name, detector in detectors.items():
        waited = np.array([delay(detector, case, waits) for case in cases])
        for wait in waits:
            ratios = np.stack([waited <= wait, np.ones(waited.size)], axis=1).astype(np.float64)
            rows.append((name, wait, *ratio_interval(ratios, series, seed), _median(waited)))
    rows += [(ONE_PERSON, wait, *[np.nan] * 4) for wait in waits]
    return pd.DataFrame(
        rows, columns=["detector", "wait", "mean", "low", "high", "half found after"]
    )


def delay(detector: Detector, case: Case, waits: Sequence[int]) -> float:
    """Return the first wait at which the first change is reported, infinity if it never is."""
    change = case.truth[0]
    for wait in waits:
        shown = change + wait + 1
        if shown > case.size:
            break
        if any(abs(point - change) <= MARGIN for point in case.detected_by(detector, shown)):
            return float(wait)
    return np.inf


def _median(waited: Floats) -> float:
    """Return the wait after which half of all changes are reported."""
    return float(np.sort(waited)[(waited.size - 1) // 2])
