"""Alarms by the size of the step they stand on: do detectors report what matters?"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from barograph.evaluation.matching import pairs
from barograph.series import Floats
from barograph.studies.detector_benchmark.answers import Answer, Answers, Measure, measured
from barograph.studies.detector_benchmark.cases import Case, Points, noise
from barograph.studies.detector_benchmark.measures import MARGIN

EDGES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, np.inf)


def by_size(
    asked: Answers, cases: Sequence[Case], margin: int = MARGIN, seed: int = 0
) -> pd.DataFrame:
    """Return alarms per thousand points and the true share, by the size of the step at them."""
    frames = []
    known = _Steps()
    for low, high in pairwise(EDGES):
        measures: dict[str, Measure] = {
            "alarms per 1000": _Alarms(low, high, margin, known),
            "true share": _TrueShare(low, high, margin, known),
        }
        word = f"{low:g} to {high:g}" if np.isfinite(high) else f"{low:g} and more"
        frames.append(measured(asked, cases, measures, [word] * len(cases), seed))
    return pd.concat(frames, ignore_index=True)


def steps(case: Case, points: Points) -> Floats:
    """Return the size of the step at each point, in units of the noise beside it.

    The medians of the stretches up to the neighbouring points, against the spread around them.
    """
    stretches = np.split(case.values, points)
    levels = np.array([np.median(stretch) for stretch in stretches])
    rest = [stretch - level for stretch, level in zip(stretches, levels, strict=True)]
    spreads = np.array([noise(np.concatenate(two)) for two in pairwise(rest)])
    sizes = np.abs(np.diff(levels))
    exact: Floats = np.where(sizes > 0, np.inf, 0.0)
    np.divide(sizes, spreads, out=exact, where=spreads > 0)
    return exact


class _Steps:
    """The steps of every answer, measured once for all rows of the table."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, Points], Floats] = {}

    def of(self, case: Case, points: Points) -> Floats:
        """Return `steps` of the same arguments; the cases outlive the table."""
        key = id(case), points
        if key not in self.known:
            self.known[key] = steps(case, points)
        return self.known[key]


class _Alarms:
    """Alarms on steps from `low` to below `high`, per thousand points."""

    def __init__(self, low: float, high: float, margin: int, known: _Steps) -> None:
        self.known = known
        self.low, self.high, self.margin = low, high, margin

    def __call__(self, answer: Answer, case: Case) -> tuple[float, float]:
        return float(len(self.alarms(answer, case))), case.size / 1000

    def alarms(self, answer: Answer, case: Case) -> set[int]:
        sizes = self.known.of(case, answer.found)
        last = self.high == np.inf
        inside = (sizes >= self.low) & ((sizes < self.high) | last)
        return {point for point, here in zip(answer.found, inside, strict=True) if here}


class _TrueShare(_Alarms):
    """The share of those alarms that a known change justifies."""

    def __call__(self, answer: Answer, case: Case) -> tuple[float, float]:
        alarms = self.alarms(answer, case)
        true = {point for point, _ in pairs(*answer, self.margin)}
        return float(len(alarms & true)), float(len(alarms))
