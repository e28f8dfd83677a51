"""Which candidates are worth a person's time: doubted labels, and those that would teach most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from barograph.learning.label_audit import held_out, suspects
from barograph.results.series import Flags, Floats, Ints
from barograph.runtime.errors import NotEnoughDataError

if TYPE_CHECKING:
    import pandas as pd

    from barograph.learning.candidates import TrainParams
    from barograph.results.history import History

LENGTH = 25  # candidates in a list: what one person decides in a sitting
POOL = 10  # the most uncertain candidates are considered, this many times the length of the list


@dataclass(frozen=True)
class DoubtedLabel:
    """A verdict that the models contradict.

    Attributes:
        candidate: Number of the candidate.
        real: What the person said.
        probability: The probability of a real change, from a model that had not seen the verdict.
    """

    candidate: int
    real: bool
    probability: float


def doubted_labels(
    candidates: Ints, real: Flags, probability: Floats, count: int = LENGTH
) -> list[DoubtedLabel]:
    """Return the verdicts that models contradict most; none while verdicts are of one kind.

    Args:
        candidates: Numbers of the decided candidates.
        real: What people said.
        probability: The probability of a real change, from models that had not seen the verdict.
        count: At most this many.

    Example:
        >>> real = np.array([True, True, False, False, True])
        >>> probability = np.array([0.9, 0.8, 0.1, 0.2, 0.05])
        >>> [label.candidate for label in doubted_labels(np.arange(5), real, probability)]
        [4]
    """
    try:
        rows = suspects(real.astype(np.int64), probability)[:count].tolist()
    except NotEnoughDataError:
        return []
    return [
        DoubtedLabel(int(candidates[row]), bool(real[row]), float(probability[row])) for row in rows
    ]


def audited_labels(history: History, params: TrainParams) -> list[DoubtedLabel]:
    """Return the verdicts that models trained without their series contradict most.

    Args:
        history: The values, and the candidates with their verdicts.
        params: The classifier, its features and the seed.

    Returns:
        The labels, with the numbers of the candidates in the history; none if the verdicts are too
        few to audit.
    """
    from barograph.learning import tables
    from barograph.models.catalogue import classifier

    use = "label_free"
    feature_set = str(params.feature_sets[use])
    try:
        frame = tables.frames_of(history, {use: (feature_set,)})(use)
        rows = tables.labelled(frame, feature_set)
        make = partial(classifier, params.classifier, seed=params.seed, trees=params.trees)
        probability = held_out(make, rows.matrix, rows.truth, rows.identities, seed=params.seed)
    except NotEnoughDataError:
        return []
    return doubted_labels(rows.candidates, rows.truth > 0, probability)


def most_informative(
    table: pd.DataFrame, features: Floats, decided: Floats | None = None, count: int = LENGTH
) -> list[int]:
    """Return the open candidates whose verdicts would teach the model most, the best first.

    Each one is uncertain, and unlike those chosen before it and those decided already: it has the
    largest product of uncertainty and distance to the nearest of them. Of one series and of one
    commit at most one is chosen, because the next would be a near duplicate.

    Args:
        table: The open candidates, with the columns `candidate`, `probability`, `series` and
            `commit`.
        features: What the candidates look like: one row each, on any scale; NaN where unknown.
        decided: The features of candidates that people decided lately; none by default.
        count: At most this many.

    Example:
        >>> import pandas as pd
        >>> looks = np.array([[0.0], [0.1], [5.0], [9.0]])
        >>> certain = [0.5, 0.5, 0.6, 0.99]
        >>> table = pd.DataFrame({"candidate": range(4), "probability": certain})
        >>> most_informative(table.assign(series=range(4), commit=[1, 1, 2, 3]), looks, count=2)
        [0, 2]
    """
    uncertainty = 1.0 - np.abs(2.0 * table.probability.to_numpy() - 1.0)
    pool = np.argsort(-uncertainty, kind="stable")[: POOL * count]
    pool = pool[uncertainty[pool] > 0]
    known = np.empty((0, features.shape[1])) if decided is None else decided
    places = _ranks(np.concatenate([features[pool], known]))
    number, series, commit = (
        table[name].to_numpy()[pool] for name in ("candidate", "series", "commit")
    )
    candidates, others = places[: pool.size], places[pool.size :]
    gap = np.full(pool.size, np.inf)
    for other in others:
        gap = np.minimum(gap, _distance(candidates, other))
    chosen: list[int] = []
    is_free = np.ones(pool.size, dtype=np.bool_)
    while len(chosen) < count and is_free.any():
        reach = np.where(np.isfinite(gap), gap, 1.0)
        worth = np.where(is_free, uncertainty[pool] * reach, -1.0)
        best = int(worth.argmax())
        chosen.append(int(number[best]))
        is_free &= (series != series[best]) & (commit != commit[best])
        gap = np.minimum(gap, _distance(candidates, candidates[best]))
    return chosen


def _ranks(features: Floats) -> Floats:
    """Return the rank of each value in its column, from 0 to 1; unknown values are in the middle.

    Ranks make columns of any scale alike, and one extreme value moves nothing.
    """
    result = np.full(features.shape, 0.5)
    for column, values in zip(result.T, features.T, strict=True):
        known = np.isfinite(values)
        distinct, place = np.unique(values[known], return_inverse=True)
        if distinct.size > 1:
            column[known] = place / (distinct.size - 1)
    return result


def _distance(places: Floats, place: Floats) -> Floats:
    """Return the mean squared distance of each row to one row."""
    gaps: Floats = np.mean((places - place) ** 2, axis=1)
    return gaps
