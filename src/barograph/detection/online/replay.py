"""The online detector over whole histories: batches that answer as one `update` a point would."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import Kind, Step
from barograph.detection.online.detector import HISTORY
from barograph.detection.online.rounds import Flags, algorithm_1, probabilities
from barograph.detection.online.scorer import Scorer
from barograph.detection.online.second_look import LOOKS, Look, SecondLook
from barograph.detection.online.sight import OF_THE_REGIME, RegimeSight
from barograph.errors import ConfigError
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
        given = budget or Budget.released(model, confirm)
        return _confirmed(model, confirm, values, offsets, given, history)
    if model.feature_set in OF_THE_REGIME:
        probability = probabilities(model, values, offsets, 0, history)
        found = probability >= model.threshold
        for first in offsets[:-1]:
            found[first : first + RegimeSight.first] = False
    else:
        probability, found = algorithm_1(model, values, offsets, history)
    return [
        _alone(probability[first:end], np.flatnonzero(found[first:end]))
        for first, end in pairwise(offsets.tolist())
    ]


def _alone(probability: Floats, found: Ints) -> Replayed:
    steps = tuple(Step(Kind.CALLED, i, i, float(probability[i])) for i in found.tolist())
    return Replayed(probability, found, found, steps)


def _confirmed(
    model: Scorer,
    confirm: Scorer,
    values: Floats,
    offsets: Ints,
    budget: Budget,
    history: int,
) -> list[Replayed]:
    """Compute all looks that can matter, then let the second look take its way."""
    for one in (model, confirm):
        if one.feature_set not in OF_THE_REGIME:
            raise ConfigError(
                f"the feature set {one.feature_set!r} depends on what was called before: replay "
                f"with a second look needs one of {', '.join(OF_THE_REGIME)}"
            )
    if budget.platform is not None:
        raise ConfigError("a platform that learns depends on the order of all series: not replayed")
    windows = {0: model} | {window: confirm for window in budget.weights if window}
    judged = {w: probabilities(one, values, offsets, w, history) for w, one in windows.items()}
    surprises = {window: budget.tails[window].surprise(judged[window]) for window in judged}
    place = np.arange(values.size) - np.repeat(offsets[:-1], np.diff(offsets))
    hot = np.zeros(values.size, dtype=np.bool_)
    standing = np.zeros(values.size, dtype=np.bool_)  # splits at which an alarm can stand
    for window, weight in budget.weights.items():
        above = surprises[window] + math.log(weight) >= budget.threshold
        above &= place >= RegimeSight.first + window
        hot |= above
        standing[np.flatnonzero(above) - window] = True
    for window in LOOKS:
        if window not in judged:
            judged[window] = probabilities(confirm, values, offsets, window, history, standing)
            surprises[window] = budget.tails[window].surprise(judged[window])
    return [
        _followed(judged, surprises, hot, budget, slice(first, end))
        for first, end in pairwise(offsets.tolist())
    ]


def _followed(
    judged: dict[int, Floats],
    surprises: dict[int, Floats],
    hot: Flags,
    budget: Budget,
    part: slice,
) -> Replayed:
    """Let the second look see all points of one series at which something can happen."""
    second = SecondLook(budget)
    alarms: list[int] = []
    steps: list[Step] = []
    standing: set[int] = set()
    here = hot[part]
    at = -1
    while (at := _next(here, at + 1, second)) < here.size:
        row = part.start + at
        looks = [
            Look(window, split, float(judged[window][row]), float(surprises[window][row]))
            for window, split in second.wanted(at, RegimeSight.first)
        ]
        alarm, seen = second.see(at, looks)
        steps += seen
        alarms += [at] if alarm is not None else []
        for step in seen:
            standing.discard(step.index if step.moved_from is None else step.moved_from)
            if step.kind is not Kind.WITHDRAWN:
                standing.add(step.index)
    return Replayed(
        judged[0][part],
        np.array(alarms, dtype=np.int64),
        np.array(sorted(standing), dtype=np.int64),
        tuple(steps),
    )


def _next(hot: Flags, at: int, second: SecondLook) -> int:
    """Return the next point at which something can happen."""
    if at >= hot.size or second.is_watching(at):
        return at
    ahead = hot[at:]
    return at + (int(ahead.argmax()) if ahead.any() else ahead.size)
