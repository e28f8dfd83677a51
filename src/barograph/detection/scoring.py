"""Probabilities of candidates, and which of them to report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from barograph.detection.excursions import Excursion, excursions, fill
from barograph.detection.levels import are_two
from barograph.features import feature_matrix, series_context
from barograph.features.subseries import LABEL_FREE, SubSeries, subseries
from barograph.models import TriageModel
from barograph.models.reasons import ReasonText, explain
from barograph.results.candidates import Candidates
from barograph.results.series import UNKNOWN_TIME, Flags, Floats, Ints, Verdict
from barograph.results.sizes import size_of
from barograph.runtime.errors import ArtifactError

CERTAIN = 1e-6  # no probability is nearer to 0 or 1 in the mean of log odds
DIVIDING = 10.0  # a probable step by this factor divides a series into stretches
ENTRY = "reporting"  # the rule's entry in the card of a model
SAME_CHANGE = 5  # points between two candidates that can stand for one change


def score_candidates(
    model: TriageModel, values: Floats, offsets: Ints, candidates: Candidates
) -> Floats:
    """Return the probability of a real change at each candidate.

    Args:
        model: A model for the use `label_free`.
        values: The values of all series, concatenated.
        offsets: Series k owns the values offsets[k] to offsets[k + 1].
        candidates: Every candidate of these series, with its verdict.
    """
    if candidates.index.size == 0:
        return np.empty(0)
    scorer = CandidateScorer(model, values, offsets, candidates)
    return scorer.probability(least_reported(model))


def explain_change_points(
    model: TriageModel, values: Floats, offsets: Ints, indices: Sequence[Sequence[int]]
) -> list[list[list[ReasonText]]]:
    """Return the main reasons for or against each change point, with its neighbours as bounds.

    Args:
        model: A model for the use `label_free`.
        values: The values of all series, concatenated.
        offsets: Series k owns the values offsets[k] to offsets[k + 1].
        indices: The change points of each series, ascending.

    Example:
        >>> values = np.array([10.0, 10.1, 9.9] * 10 + [12.0, 12.1, 11.9] * 10)
        >>> model = TriageModel.default("label_free")
        >>> [[reasons]] = explain_change_points(model, values, np.array([0, 60]), [[30]])
        >>> reasons[0].text
        'The level rose by 13.5 noise units and stayed for 30 points.'
    """
    if not any(indices):
        return [[] for _ in indices]
    explained = iter(CandidateScorer(model, values, offsets, Candidates.of(indices)).explain())
    return [[next(explained) for _ in points] for points in indices]


class CandidateScorer:
    """Scores the candidates of many series so that no probability depends on a chance neighbour.

    - Excursions are filled with the level around them, before anything but their own ends is
      scored.
    - A candidate is scored between all its neighbours, and again between those that are probable.
      The mean of the log odds counts.
    - Beside a level ten times as high no other step can be seen. So a probable step by such a
      factor divides the series, and other candidates are compared with their stretch alone.

    Args:
        model: A model for the use `label_free`.
        values: The values of all series, concatenated.
        offsets: Series k owns the values offsets[k] to offsets[k + 1].
        candidates: One or more candidates, with their verdicts.
        known: The excursions of each series with candidates, if they are known.
        divides: Whether dividing steps count; without them, scores suit plots of whole series.
    """

    def __init__(
        self,
        model: TriageModel,
        values: Floats,
        offsets: Ints,
        candidates: Candidates,
        known: Mapping[int, Sequence[Excursion]] | None = None,
        *,
        divides: bool = True,
    ) -> None:
        self._model, self._offsets, self._candidates = model, offsets, candidates
        if known is None:
            owners = np.unique(candidates.series).tolist()
            known = {k: excursions(values[offsets[k] : offsets[k + 1]]) for k in owners}
        # The series as they are, then their filled copies.
        self._values = np.concatenate([values, values])
        is_end = np.zeros(candidates.index.size, dtype=bool)
        for k, runs in known.items():
            if runs:
                copy = slice(values.size + offsets[k], values.size + offsets[k + 1])
                self._values[copy] = fill(values[offsets[k] : offsets[k + 1]], runs)
                ends = [edge for run in runs if run.size > 1 for edge in run]
                is_end |= (candidates.series == k) & np.isin(candidates.index, ends)
        # The ends of an excursion are scored in the series as it is, all others in the copy.
        self._shift = np.where(is_end, 0, values.size)
        self._bounds = subseries(LABEL_FREE, offsets, candidates)
        self._around = offsets[candidates.series], offsets[candidates.series + 1]
        self._alone = self._score(np.arange(is_end.size), self._bounds)
        if divides:
            weak = self._is_weak(least_reported(model))
            within = _divide(self._values[values.size :], candidates, ~weak, *self._around)
            if within.size:
                self._alone[within] = self._score(within, self._bounds)

    def probability(self, probable: float) -> Floats:
        """Return the probability of a real change at each candidate.

        Args:
            probable: Minimum probability of a candidate that bounds others in the second round.
        """
        remaining = _without(self._candidates, self._is_weak(probable))
        bounds = subseries(LABEL_FREE, self._offsets, remaining)
        first = self._bounds
        changed = np.flatnonzero((bounds.starts != first.starts) | (bounds.ends != first.ends))
        odds = np.tile(_log_odds(self._alone), (2, 1))
        if changed.size:
            odds[1, changed] = _log_odds(self._score(changed, bounds))
        mean: Floats = 1.0 / (1.0 + np.exp(-np.mean(odds, axis=0)))
        return mean

    def features(self) -> Floats:
        """Return the features of each candidate between its neighbours."""
        return self._features(np.arange(self._shift.size), self._bounds)

    def explain(self) -> list[list[ReasonText]]:
        """Return the main reasons for the probability of each candidate between its neighbours."""
        sizes = [
            size_of(self._values[a:b], self._values[b:c])
            for a, b, c in zip(*self._bounds, strict=True)  # in the series as they are
        ]
        return explain(self._model, self.features(), sizes=sizes)

    def _is_weak(self, probable: float) -> Flags:
        """Return which candidates are less than probable, and have not been called real."""
        real = self._candidates.verdict == Verdict.TRUE_POSITIVE.value
        weak: Flags = (self._alone < probable) & ~real
        return weak

    def _score(self, rows: Ints, bounds: SubSeries) -> Floats:
        """Return what the model says of some candidates between the given bounds."""
        return self._model.predict_proba(self._features(rows, bounds))[:, 1]

    def _features(self, rows: Ints, bounds: SubSeries) -> Floats:
        """Return the features of some candidates between the given bounds."""
        shift = self._shift[rows]
        sides = SubSeries(*(side[rows] + shift for side in bounds))
        firsts, lasts = (side[rows] + shift for side in self._around)
        around = np.minimum(firsts, sides.starts), np.maximum(lasts, sides.ends)
        name = self._model.feature_set
        context = series_context(name, self._values, sides, *around)
        return feature_matrix(self._values, *sides, name, context=context)


def _divide(
    values: Floats, candidates: Candidates, probable: Flags, firsts: Ints, lasts: Ints
) -> Ints:
    """Narrow the stretch around each candidate to that between dividing steps.

    Args:
        values: The values of all series.
        candidates: The candidates.
        probable: Whether each may divide its series.
        firsts: Where the series of each candidate starts; replaced by where its stretch does.
        lasts: Where it ends.

    Returns:
        The candidates whose stretch is not the whole series.
    """
    within = np.zeros(firsts.size, dtype=bool)
    order = np.lexsort((candidates.index, candidates.series))
    for rows in np.split(order, np.flatnonzero(np.diff(candidates.series[order])) + 1):
        start, end = firsts[rows[0]], lasts[rows[0]]
        places = candidates.index[rows] + start
        steps = places[probable[rows]]
        steps = steps[_is_dividing(values, [start, *steps, end])]
        if steps.size:
            inner = ~np.isin(places, steps)
            parts = np.searchsorted(steps, places[inner])
            within[rows[inner]] = True
            firsts[rows[inner]] = np.append(start, steps)[parts]
            lasts[rows[inner]] = np.append(steps, end)[parts]
    return np.flatnonzero(within)


def _is_dividing(values: Floats, edges: Sequence[int]) -> Flags:
    """Return which of the steps between two edges change the level by a factor of DIVIDING."""
    levels = np.array([abs(np.median(values[start:end])) for start, end in pairwise(edges)])
    larger = np.maximum(levels[1:], levels[:-1])
    lower = np.minimum(levels[1:], levels[:-1])
    dividing: Flags = (lower <= larger / DIVIDING) & (lower < larger)
    return dividing


def _without(candidates: Candidates, weak: Flags) -> Candidates:
    """Return the candidates, the weak ones as if a person had called them false at first sight.

    So they bound no other candidate.
    """
    first = UNKNOWN_TIME + 1
    return replace(
        candidates,
        verdict=np.where(weak, Verdict.FALSE_POSITIVE.value, candidates.verdict),
        triaged_on=np.where(weak, first, candidates.triaged_on),
        calculated_on=np.maximum(candidates.calculated_on, first + 1),
    )


def _log_odds(probability: Floats) -> Floats:
    clipped = np.clip(probability, CERTAIN, 1.0 - CERTAIN)
    odds: Floats = np.log(clipped / (1.0 - clipped))
    return odds


def least_reported(model: TriageModel) -> float:
    """Return the least probability of candidates that are reported, by the rule of a model.

    It is the threshold of a model that was made without a rule.

    Raises:
        ArtifactError: The card has a rule that this program cannot read.
    """
    stated = model.card.get(ENTRY)
    if stated is None:
        return min(model.threshold, 1.0)
    with suppress(KeyError, TypeError, ValueError):
        least = float(stated["min_probability"])
        if 0 <= least <= 1:
            return least
    raise ArtifactError(f"the card's {ENTRY!r} is {stated!r}; it must have min_probability, 0 to 1")


def rule_entry(least: float, chosen_from: str) -> Mapping[str, Any]:
    """Return the entry of a model's card that `least_reported` reads.

    Args:
        least: The least probability.
        chosen_from: What it was chosen from, for people who read the card.
    """
    return {ENTRY: {"min_probability": least, "chosen_from": chosen_from}}


def select(least: float, index: Ints, probability: Floats, values: Floats) -> list[int]:
    """Return the positions of the candidates of a series that are reported, ascending.

    Two candidates for one change share its evidence: of candidates within `SAME_CHANGE` points
    of each other that change the level in the same direction, the most probable is reported,
    unless the level between them is its own.

    Args:
        least: The least probability.
        index: The candidates, ascending.
        probability: Their probabilities.
        values: The series.

    Example:
        >>> values = np.array([1.0, 1.1, 0.9, 1.0, 1.6, 1.4, 1.8, 2.1, 1.9, 2.0])
        >>> select(0.4, np.array([4, 7]), np.array([0.9, 0.6]), values)
        [0]
    """
    edges = pairwise([0, *index.tolist(), values.size]) if index.size else ()
    rise = np.diff([np.median(values[start:end]) for start, end in edges]) > 0
    chosen: list[int] = []
    for k in np.argsort(-probability, kind="stable").tolist():
        near = (j for j in chosen if abs(int(index[k] - index[j])) <= SAME_CHANGE)
        if probability[k] >= least and all(
            rise[j] != rise[k] or are_two(values, int(index[j]), int(index[k])) for j in near
        ):
            chosen.append(k)
    return sorted(chosen)
