"""Candidates of a detector, scored by a model: the default way to find change points.

Detectors propose candidates, and the ends of pulses are proposed too. A model says how likely a
person would call each of them a real change, and the reporting rule in the model's file says which
of them are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from barograph.detection.base import Detector, RawChangePoint, require
from barograph.detection.edivisive import EDivisive
from barograph.detection.excursions import PULSE, Excursion, excursions, fill
from barograph.detection.hunter import Hunter
from barograph.detection.levels import are_two
from barograph.detection.new_changes import look_again
from barograph.detection.scoring import SAME_CHANGE, CandidateScorer, least_reported, select
from barograph.models import TriageModel
from barograph.results.candidates import Candidates
from barograph.results.series import Floats, Ints, as_floats

USE = "label_free"
# Excursions hide changes from a detector if the standard deviation is this many times as large with
# them as without them.
HIDING = 10.0
# E-Divisive divides a whole series and misses a level that lasts for a few points of a long one.
# Windows find it; the small p-value keeps most of what is noise out.
DETECTORS = (EDivisive(), Hunter(pvalue=1e-4))


@dataclass(frozen=True)
class Triaged(Detector):
    """Report the candidates of other detectors that a model calls real.

    The ends of pulses, excursions of 3 to 12 points, are candidates too. Each change point has a
    `probability`; `statistic` is its log odds. `pvalue`, `order` and `q` are those of the
    detector that proposed it, None at the ends of pulses. By the built-in rule, change points that
    at most ten points follow are marked as new, and the online pair can report them, too.

    Args:
        candidates: Proposes the candidates: a detector, or a tuple of detectors. Of candidates near
            each other, that of the earlier detector is kept.
        model: Scores them; a model for the use `label_free`. None for the built-in model.
        min_probability: Report candidates of at least this probability, 0 to 1. None for the
            reporting rule of the model.
        apart: Candidates of two detectors at most this many points apart are one candidate.

    Example:
        >>> values = [10.0, 10.1, 9.9] * 10 + [12.0, 12.1, 11.9] * 10
        >>> [point.index for point in Triaged().detect(values)]
        [30]
    """

    candidates: Detector | tuple[Detector, ...] = DETECTORS
    model: TriageModel | None = None
    min_probability: float | None = None
    apart: int = field(default=SAME_CHANGE, kw_only=True)

    def __post_init__(self) -> None:
        """Check the parameters."""
        super().__post_init__()
        several: object = self._detectors
        is_usable = isinstance(several, tuple) and bool(several)
        is_usable = is_usable and all(isinstance(each, Detector) for each in self._detectors)
        require(is_usable, "candidates", self.candidates, "a detector, or a tuple of detectors")
        require(self.apart >= 0, "apart", self.apart, "at least 0")
        least = self.min_probability
        require(least is None or 0 <= least <= 1, "min_probability", least, "from 0 to 1")
        is_model = self.model is None or isinstance(self.model, TriageModel)
        require(is_model, "model", self.model, "a TriageModel")
        use = USE if self.model is None else self.model.use
        require(use == USE, "model", f"a model for the use {use!r}", f"for the use {USE!r}")

    @property
    def shortest(self) -> int:
        """Fewest points that every detector of candidates needs."""
        return max(detector.shortest for detector in self._detectors)

    @property
    def _detectors(self) -> tuple[Detector, ...]:
        return (self.candidates,) if isinstance(self.candidates, Detector) else self.candidates

    def work(self, points: int) -> float:
        """Return the number of points that a fast detector searches in the same time."""
        return max(detector.work(points) for detector in self._detectors)

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the reported change points of a series."""
        return self.find_many(values, np.array([0, values.size]))[0]

    def find_many(self, values: Floats, offsets: Ints) -> list[list[RawChangePoint]]:
        """Return the reported change points of many series, which are scored together."""
        model = self.model or _default_model()
        least = least_reported(model)
        points, known = self.propose(values, offsets)
        if not any(points):
            return points
        scorer = CandidateScorer(model, values, offsets, table_of(points), known)
        probability = scorer.probability(least)
        if self.min_probability is not None:
            least = self.min_probability
        elif model.version == _default_model().version:
            points, probability = look_again(values, offsets.tolist(), points, probability)
        return reported(least, values, offsets, points, probability)

    def propose(
        self, values: Floats, offsets: Ints
    ) -> tuple[list[list[RawChangePoint]], dict[int, Sequence[Excursion]]]:
        """Return all candidates of many series, and their excursions.

        Pulses and very large spikes hide the changes around them from other detectors: a series
        with any is searched again with its excursions filled.

        Args:
            values: The values of all series, one after the other.
            offsets: Series k owns the values offsets[k] to offsets[k + 1].
        """
        points = self._search(values, offsets)
        known: dict[int, Sequence[Excursion]] = {}
        for k, (start, end) in enumerate(pairwise(offsets.tolist())):
            part = values[start:end]
            if part.size >= self.shortest:
                known[k] = runs = excursions(part)
                if runs and _hide_changes(runs, part, filled := fill(part, runs)):
                    [again] = self._search(filled, np.array([0, part.size]))
                    both = _merged((points[k], again), 1, part)
                    points[k] = with_pulses(both, runs, part.size)
        return points, known

    def _search(self, values: Floats, offsets: Ints) -> list[list[RawChangePoint]]:
        """Return the change points that the detectors of candidates find in many series."""
        found = zip(*(each.find_many(values, offsets) for each in self._detectors), strict=True)
        return [
            _merged(sources, self.apart, values[start:end]) if end - start >= self.shortest else []
            for sources, (start, end) in zip(found, pairwise(offsets.tolist()), strict=True)
        ]


def all_candidates(model: TriageModel, values: Floats, offsets: Ints) -> tuple[Candidates, Floats]:
    """Return all that `Triaged` proposes in many series, with the probabilities.

    Args:
        model: A model for the use `label_free`.
        values: The values of all series, one after the other.
        offsets: Series k owns the values offsets[k] to offsets[k + 1].
    """
    points = Triaged(model=model, min_probability=0.0).find_many(as_floats(values), offsets)
    probability = [point.probability for run in points for point in run]
    return table_of(points), np.array(probability, dtype=np.float64)


def table_of(points: Sequence[Sequence[RawChangePoint]]) -> Candidates:
    """Return the candidates of each series as a table."""
    return Candidates.of([[point.index for point in run] for run in points])


def reported(
    least: float,
    values: Floats,
    offsets: Ints,
    points: Sequence[Sequence[RawChangePoint]],
    probability: Floats,
) -> list[list[RawChangePoint]]:
    """Return the candidates of each series that are reported, with their probabilities.

    Args:
        least: The least probability of a candidate that is reported.
        values: The values of all series, one after the other.
        offsets: Series k owns the values offsets[k] to offsets[k + 1].
        points: The candidates of each series.
        probability: The probabilities of all candidates.
    """
    odds = np.log(probability / (1.0 - probability)).tolist()
    result: list[list[RawChangePoint]] = []
    first = 0
    for (start, end), run in zip(pairwise(offsets.tolist()), points, strict=True):
        index = np.array([point.index for point in run], dtype=np.int64)
        chances = probability[first : first + len(run)]
        chosen = select(least, index, chances, values[start:end])
        result.append(
            [
                replace(run[k], probability=float(chances[k]), statistic=odds[first + k])
                for k in chosen
            ]
        )
        first += len(run)
    return result


def _hide_changes(runs: Sequence[Excursion], values: Floats, filled: Floats) -> bool:
    """Return whether excursions are long or large enough to hide changes around them."""
    if any(run.size >= PULSE for run in runs):
        return True
    return bool(HIDING * filled.std() < values.std())


def _merged(
    sources: Iterable[Sequence[RawChangePoint]], apart: int, values: Floats
) -> list[RawChangePoint]:
    """Return the candidates of several searches.

    Of those near each other, that of the first counts, unless the level between them is its own.
    """
    result: list[RawChangePoint] = []
    for points in sources:
        taken = np.array([point.index for point in result], dtype=np.int64)
        for point in points:
            near = taken[np.abs(taken - point.index) <= apart].tolist()
            if all(are_two(values, place, point.index) for place in near):
                result.append(point)
    return sorted(result, key=lambda point: point.index)


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


@lru_cache(maxsize=1)
def _default_model() -> TriageModel:
    return TriageModel.default(USE)
