"""Alarms by the size of the step at them: whether detectors report what matters."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from barograph.evaluation.matching import pairs
from barograph.series import Floats
from barograph.sources.simulator.people import noise
from barograph.studies.detector_benchmark.cases import Case, Points
from barograph.studies.detector_benchmark.measures import (
    MARGIN,
    Detection,
    Detections,
    Measure,
    measured,
)

EDGES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, np.inf)


def by_step_size(detections: Detections, cases: Sequence[Case], seed: int = 0) -> pd.DataFrame:
    """Return alarms per thousand points and their true share, by the size of the step at them."""
    frames = []
    cache = _StepSizes()
    for low, high in pairwise(EDGES):
        measures: dict[str, Measure] = {
            "alarms per 1000": _Alarms(low, high, cache),
            "true share": _TrueShare(low, high, cache),
        }
        label = f"{low:g} to {high:g}" if np.isfinite(high) else f"{low:g} and more"
        frames.append(measured(detections, cases, measures, [label] * len(cases), seed))
    return pd.concat(frames, ignore_index=True)


def step_sizes(case: Case, points: Points) -> Floats:
    """Return the size of the step at each point, in units of the noise around it.

    The medians of the stretches up to the neighbouring points are compared with the noise of both
    stretches.
    """
    stretches = np.split(case.values, points)
    levels = np.array([np.median(stretch) for stretch in stretches])
    residuals = [stretch - level for stretch, level in zip(stretches, levels, strict=True)]
    noises = np.array([noise(np.concatenate(both)) for both in pairwise(residuals)])
    steps = np.abs(np.diff(levels))
    sizes: Floats = np.where(steps > 0, np.inf, 0.0)
    np.divide(steps, noises, out=sizes, where=noises > 0)
    return sizes


class _StepSizes:
    """The step sizes of every detection, computed once for all rows of the table."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Points], Floats] = {}

    def get(self, case: Case, points: Points) -> Floats:
        """Return `step_sizes` of the same arguments; the cases must outlive the cache."""
        key = id(case), points
        if key not in self._known:
            self._known[key] = step_sizes(case, points)
        return self._known[key]


class _Alarms:
    """Alarms on steps from `low` to below `high`, per thousand points."""

    def __init__(self, low: float, high: float, cache: _StepSizes) -> None:
        self.low, self.high, self.cache = low, high, cache

    def __call__(self, detection: Detection, case: Case) -> tuple[float, float]:
        return float(len(self.alarms(detection, case))), case.size / 1000

    def alarms(self, detection: Detection, case: Case) -> set[int]:
        sizes = self.cache.get(case, detection.reported)
        inside = (sizes >= self.low) & ((sizes < self.high) | (self.high == np.inf))
        return set(np.array(detection.reported, dtype=np.int64)[inside].tolist())


class _TrueShare(_Alarms):
    """The share of those alarms that match a true change."""

    def __call__(self, detection: Detection, case: Case) -> tuple[float, float]:
        alarms = self.alarms(detection, case)
        true = {point for point, _ in pairs(*detection, MARGIN)}
        return float(len(alarms & true)), float(len(alarms))
