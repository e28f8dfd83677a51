"""New change points: candidates that few results follow.

The label-free model learned from finished histories, and doubts a level of two or three results.
The confirming model of the online pair learned from such levels. It raises a candidate by the rule
of the second look: if its score is an alarm.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from barograph.detection.base import RawChangePoint
from barograph.detection.online.budget import RATES, Budget
from barograph.detection.online.second_look import (
    BEFORE,
    FIRST_SCORED,
    RETURNED,
    SECOND_LOOK_WINDOWS,
    part_of_step,
    place_of,
)
from barograph.detection.online.views import HISTORY, compared_from, kept_from
from barograph.features import feature_matrix
from barograph.models import TriageModel
from barograph.results.series import Floats

# Results after the first one of a new level; the confirming model knows no longer windows.
MOST_AFTER = SECOND_LOOK_WINDOWS[-1]
RATE = min(RATES)  # with the smallest budget, quiet series get no more change points


class Recent(NamedTuple):
    """A candidate near the end of its series.

    Attributes:
        series: The number of the series.
        number: The position of the candidate among those of the series.
        row: Its position among all candidates.
        start: Where the series begins among the values of all series.
        place: Where the new level begins there.
        end: Where the series ends there.
    """

    series: int
    number: int
    row: int
    start: int
    place: int
    end: int

    @property
    def after(self) -> int:
        """Number of results after the first one of the new level."""
        return self.end - self.place - 1


def look_again(
    values: Floats,
    offsets: Sequence[int],
    points: Sequence[Sequence[RawChangePoint]],
    probability: Floats,
) -> tuple[list[list[RawChangePoint]], Floats]:
    """Mark the candidates near the end as new, and judge them with the built-in online pair.

    A candidate that the pair raises gets the probability of the pair, and the place that fits the
    values best.

    Args:
        values: The values of all series, one after the other.
        offsets: Series k owns the values offsets[k] to offsets[k + 1].
        points: The candidates of each series, by ascending index.
        probability: The probabilities of all candidates by the label-free model.

    Returns:
        The candidates, and their probabilities.
    """
    marked, sure = [list(run) for run in points], probability.copy()
    near, row = [], 0
    for k, ((start, end), run) in enumerate(zip(pairwise(offsets), marked, strict=True)):
        for number, point in enumerate(run):
            if end - start - point.index - 1 <= MOST_AFTER:
                place = start + _place(values[start:end], points[k], number)
                near.append(Recent(k, number, row + number, start, place, end))
                run[number] = replace(point, is_new=True)
        row += len(run)
    for recent, real in _raised(values, near):
        run = marked[recent.series]
        run[recent.number] = replace(run[recent.number], index=recent.place - recent.start)
        sure[recent.row] = real
    return marked, sure


def _place(values: Floats, run: Sequence[RawChangePoint], number: int) -> int:
    """Return where the level of a candidate begins: there, or at a neighbour.

    E-Divisive wants three results of a level, and misplaces one of two.

    Args:
        values: The series.
        run: Its candidates.
        number: The position of the candidate among them.
    """
    edges = [0, *(point.index for point in run), values.size]
    first, index, last = edges[number : number + 3]

    def sides(split: int) -> tuple[list[float], list[float]]:
        before = values[max(split - BEFORE, first) : split]
        return before.tolist(), values[split:last].tolist()

    place = place_of(sides, index)
    return place if first < place < last else index


def _raised(values: Floats, near: Sequence[Recent]) -> list[tuple[Recent, float]]:
    """Return the candidates that the pair raises, with its probabilities."""
    known = [
        each
        for each in near
        if 0 < each.after <= MOST_AFTER
        and each.place - each.start >= FIRST_SCORED
        and _begins_there(values, each)
    ]
    if not known:
        return []
    confirm, budget = _built_in()
    *_, starts, places, ends = np.array(known).T
    kept = starts + kept_from(ends - 1 - starts, HISTORY)
    compared = compared_from(values, kept, ends - 1)
    matrix = feature_matrix(values, compared, places, ends, confirm.feature_set, threads=1)
    scored = zip(known, confirm.predict_proba(matrix)[:, 1].tolist(), strict=True)
    return [
        (each, real)
        for each, real in scored
        if _score(budget, each.after, real) >= budget.threshold
    ]


def _begins_there(values: Floats, recent: Recent) -> bool:
    """Whether the first result of the level goes half of the way: a later one may be a spike."""
    before = values[max(recent.start, recent.place - BEFORE) : recent.place]
    since = values[recent.place : recent.end]
    return part_of_step(before.tolist(), [float(np.median(since)), float(since[0])]) >= RETURNED


def _score(budget: Budget, window: int, probability: float) -> float:
    """Return the score of a window; one without a weight has that of the next shorter window.

    A history that grows is searched with every result, so windows up to this one share the rate.
    """
    known = sorted(budget.log_weights)
    weight = budget.log_weights[known[bisect(known, window) - 1]]
    return float(budget.tails[window].surprise(probability)) + weight - math.log(1 + window)


@lru_cache(maxsize=1)
def _built_in() -> tuple[TriageModel, Budget]:
    """Return the built-in confirming model, and the smallest budget of the built-in pair."""
    newest, confirm = TriageModel.default("online"), TriageModel.default("confirm")
    return confirm, Budget.released(newest, confirm, RATE)
