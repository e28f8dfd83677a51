"""Candidates of a detector, scored by a model: the default way to find change points.

A detector proposes candidates, and the ends of pulses are proposed too. A model says how likely a
person would call each of them a real change, and the reporting rule in the model's file says which
of them are reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from barograph.detection.base import Detector, Observations, RawChangePoint, require
from barograph.detection.edivisive import EDivisive
from barograph.detection.excursions import Excursion, excursions, fill
from barograph.detection.reporting import ReportingRule
from barograph.detection.scoring import CandidateScorer
from barograph.history import Candidates
from barograph.models import TriageModel
from barograph.series import Floats, Ints

USE = "label_free"
# Excursions of fewer points are spikes: their ends are not proposed.
PULSE = 3
HUGE = 2.0**900


@dataclass(frozen=True)
class Triaged(Detector):
    """Report the candidates of another detector that a model calls real.

    The ends of pulses, excursions of 3 to 12 points, are candidates too. Each change point has a
    `probability`; `statistic` is its log odds. `pvalue`, `order` and `q` are those of the
    other detector, None at the ends of pulses.

    Args:
        candidates: Proposes the candidates.
        model: Scores them; a model for the use `label_free`. None for the built-in model.
        min_probability: Report candidates of at least this probability, 0 to 1. None for the
            reporting rule of the model.

    Example:
        >>> values = [10.0, 10.1, 9.9] * 10 + [12.0, 12.1, 11.9] * 10
        >>> [point.index for point in Triaged().detect(values)]
        [30]
    """

    candidates: Detector = field(default_factory=EDivisive)
    model: TriageModel | None = None
    min_probability: float | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        least = self.min_probability
        require(least is None or 0 <= least <= 1, "min_probability", least, "from 0 to 1")
        use = USE if self.model is None else self.model.use
        require(use == USE, "model", f"a model for the use {use!r}", f"for the use {USE!r}")

    @property
    def shortest(self) -> int:
        """Fewest points that the detector of candidates needs."""
        return self.candidates.shortest

    def find(self, series: Observations) -> list[RawChangePoint]:
        """Return the reported change points of a series."""
        offsets = np.array([0, series.values.size])
        return self._triage(series.values, offsets, [self.candidates.find(series)])[0]

    def find_many(self, values: Floats, offsets: Ints) -> list[list[RawChangePoint]]:
        """Return the reported change points of many series, which are scored together."""
        return self._triage(values, offsets, self.candidates.find_many(values, offsets))

    def _triage(
        self, values: Floats, offsets: Ints, searched: Sequence[Sequence[RawChangePoint]]
    ) -> list[list[RawChangePoint]]:
        """Score the candidates of many series, and return those to report."""
        model = self.model or _default_model()
        stored = rule = ReportingRule.of(model)
        if self.min_probability is not None:
            rule = ReportingRule(self.min_probability)
        proposed = self.propose(_within_range(values, offsets), offsets, searched)
        if not any(proposed.points):
            return [[] for _ in proposed.points]
        probability = proposed.scorer(model).probability(stored.min_probability)
        return proposed.reported(rule, probability)

    def propose(
        self, values: Floats, offsets: Ints, searched: Sequence[Sequence[RawChangePoint]]
    ) -> Proposed:
        """Return all candidates of many series.

        A large pulse hides the changes around it from other detectors: a series with pulses is
        searched again with its excursions filled.

        Args:
            values: The values of all series, one after the other.
            offsets: Series k owns the values offsets[k] to offsets[k + 1].
            searched: The change points that `candidates` finds in each series.
        """
        points: list[list[RawChangePoint]] = []
        known: dict[int, Sequence[Excursion]] = {}
        for k, (start, end) in enumerate(pairwise(offsets.tolist())):
            part, candidates = values[start:end], list(searched[k])
            if part.size >= self.shortest:
                known[k] = runs = excursions(part)
                if any(run.size >= PULSE for run in runs):
                    again = self.candidates.find_many(fill(part, runs), np.array([0, part.size]))
                    candidates = with_pulses(_merged(candidates, again[0]), runs, part.size)
            points.append(candidates)
        return Proposed(values, offsets, points, known)


class Proposed(NamedTuple):
    """Proposed candidates of many series.

    Attributes:
        values: The values of all series, one after the other.
        offsets: Series k owns the values offsets[k] to offsets[k + 1].
        points: The candidates of each series, by ascending index.
        excursions: The excursions of each series.
    """

    values: Floats
    offsets: Ints
    points: Sequence[Sequence[RawChangePoint]]
    excursions: Mapping[int, Sequence[Excursion]]

    def scorer(self, model: TriageModel) -> CandidateScorer:
        """Return what scores these candidates; there must be some."""
        table = Candidates.at([[point.index for point in points] for points in self.points])
        return CandidateScorer(model, self.values, self.offsets, table, self.excursions)

    def reported(self, rule: ReportingRule, probability: Floats) -> list[list[RawChangePoint]]:
        """Return the candidates of each series that a rule reports, with their probabilities."""
        chances = iter(probability.tolist())
        scored = [[_scored(point, next(chances)) for point in points] for points in self.points]
        return [
            _reported(rule, self.values[start:end], points)
            for (start, end), points in zip(pairwise(self.offsets.tolist()), scored, strict=True)
        ]


def _within_range(values: Floats, offsets: Ints) -> Floats:
    """Return the values, with series near the largest float scaled down so that sums are finite."""
    if np.abs(values).max(initial=0.0) <= HUGE:
        return values
    scaled = values.copy()
    for start, end in pairwise(offsets.tolist()):
        if np.abs(values[start:end]).max(initial=0.0) > HUGE:
            scaled[start:end] /= HUGE
    return scaled


def _merged(
    first: Sequence[RawChangePoint], second: Sequence[RawChangePoint]
) -> list[RawChangePoint]:
    """Return the candidates of two searches; of neighbours within a point, that of the first."""
    near = {point.index + step for point in first for step in (-1, 0, 1)}
    additional = [point for point in second if point.index not in near]
    return sorted([*first, *additional], key=lambda point: point.index)


def with_pulses(
    proposed: Sequence[RawChangePoint], runs: Sequence[Excursion], size: int
) -> list[RawChangePoint]:
    """Return the proposed candidates and the ends of pulses, which replace what lies beside them.

    Args:
        proposed: The candidates of a detector.
        runs: The excursions of the series.
        size: The number of points of the series.
    """
    ends = {edge for run in runs if run.size >= PULSE for edge in run if 0 < edge < size}
    beside = {edge + step for edge in ends for step in (-1, 0, 1)}
    remaining = [point for point in proposed if point.index not in beside]
    pulses = [RawChangePoint(edge, 0.0) for edge in ends]
    return sorted([*remaining, *pulses], key=lambda point: point.index)


def _scored(point: RawChangePoint, probability: float) -> RawChangePoint:
    odds = np.log(probability / (1.0 - probability))
    return replace(point, probability=probability, statistic=float(odds))


def _reported(
    rule: ReportingRule, values: Floats, points: list[RawChangePoint]
) -> list[RawChangePoint]:
    if not points:
        return []
    index = np.array([point.index for point in points])
    probability = np.array([point.probability for point in points], dtype=np.float64)
    edges = [0, *index.tolist(), values.size]
    levels = np.array([np.median(values[start:end]) for start, end in pairwise(edges)])
    return [points[k] for k in rule.select(index, probability, levels).tolist()]


@lru_cache(maxsize=1)
def _default_model() -> TriageModel:
    return TriageModel.default(USE)
