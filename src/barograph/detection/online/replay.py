"""The online detector over whole histories: batches that answer as one `update` a point would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import Kind, Step
from barograph.detection.online.following import Followed, Landed, check_pair, look_again
from barograph.detection.online.newest import newest_points
from barograph.detection.online.recent import HISTORY, kept_from
from barograph.detection.online.rounds import algorithm_1
from barograph.detection.online.scorer import Scorer
from barograph.detection.online.sight import OF_THE_REGIME, RegimeSight
from barograph.series import Floats, Ints


@dataclass(frozen=True)
class Replayed:
    """What the detector would have said of one history.

    Attributes:
        probability: of each point as it was the newest one; 0 where it was not judged.
        alarms: the points at which an alarm was raised.
        change_points: the indices that stand in the end.
        steps: what happened, in order.
    """

    probability: Floats
    alarms: Ints
    change_points: Ints
    steps: tuple[Step, ...]


def replay(
    model: Scorer,
    values: Floats,
    confirm: Scorer | None = None,
    *,
    budget: Budget | None = None,
    history: int = HISTORY,
) -> Replayed:
    """Run the detector over a whole history.

    Args:
        model: judges the newest point.
        values: one series.
        confirm: judges points that others have followed; both models then look at the regime.
        budget: as for `OnlineDetector`.
        history: as for `OnlineDetector`.
    """
    return replay_many(model, [values], confirm, budget=budget, history=history)[0]


def replay_many(
    model: Scorer,
    series: Sequence[Floats],
    confirm: Scorer | None = None,
    *,
    budget: Budget | None = None,
    history: int = HISTORY,
) -> list[Replayed]:
    """Run the detector over many histories at once: models are quicker with many rows a call.

    Every history has the answer of `replay` alone.
    """
    values = np.concatenate([np.empty(0), *series])
    offsets = np.cumsum([0, *(one.size for one in series)])
    if confirm is not None:
        budget = budget or Budget.released(model, confirm)
        check_pair(model, confirm, budget)
        landed = _landed(values, offsets, history)
        probability, seen = look_again(model, confirm, landed, budget, [None] * len(series))
        return [
            _twice(probability[first:end], one)
            for (first, end), one in zip(pairwise(offsets.tolist()), seen, strict=True)
        ]
    if model.feature_set in OF_THE_REGIME:
        probability = _newest(model, _landed(values, offsets, history))
        found = probability >= model.threshold
    else:
        probability, found = algorithm_1(model, values, offsets, history)
    return [
        _alone(probability[first:end], np.flatnonzero(found[first:end]))
        for first, end in pairwise(offsets.tolist())
    ]


def _landed(values: Floats, offsets: Ints, history: int) -> Landed:
    """Every point of every series, with what the detector keeps as it lands."""
    newest = np.arange(values.size)
    origin = np.repeat(offsets[:-1], np.diff(offsets))
    places = newest - origin
    return Landed(values, newest, offsets, places, origin + kept_from(places, history))


def _newest(model: Scorer, landed: Landed) -> Floats:
    """Judge every point as the newest; none where too little is before it."""
    splits = landed.newest[landed.places >= RegimeSight.first]
    result = np.full(landed.values.size, -1.0)
    result[splits] = newest_points(model, landed.values, landed.starts[splits], splits, threads=1)
    return result


def _alone(probability: Floats, found: Ints) -> Replayed:
    steps = tuple(Step(Kind.CALLED, i, i, float(probability[i])) for i in found.tolist())
    return Replayed(np.maximum(probability, 0.0), found, found, steps)


def _twice(probability: Floats, seen: Followed) -> Replayed:
    standing: set[int] = set()
    for step in seen.steps:
        standing.discard(step.index if step.moved_from is None else step.moved_from)
        if step.kind is not Kind.WITHDRAWN:
            standing.add(step.index)
    return Replayed(
        probability,
        np.array(seen.alarms, dtype=np.int64),
        np.array(sorted(standing), dtype=np.int64),
        tuple(seen.steps),
    )
