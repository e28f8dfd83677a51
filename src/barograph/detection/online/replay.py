"""The online detector over whole histories: batches that answer as one `update` a point would."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import Kind, Step
from barograph.detection.online.detector import HISTORY
from barograph.detection.online.newest import AHEAD, newest_points
from barograph.detection.online.recent import kept_from
from barograph.detection.online.scorer import Scorer
from barograph.detection.online.second_look import LOOKS, Look, SecondLook
from barograph.detection.online.sight import OF_THE_REGIME, RegimeSight
from barograph.errors import ConfigError
from barograph.features import feature_matrix
from barograph.series import Floats, Ints

LARGEST = 512  # points judged per batch where none is found for long


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
    if confirm is not None:
        return _confirmed(
            model, confirm, values, budget or Budget.released(model, confirm), history
        )
    if model.feature_set in OF_THE_REGIME:
        probability = _probabilities(model, values, 0, history)
        found = np.flatnonzero(probability >= model.threshold)
        found = found[found >= RegimeSight.first]
    else:
        probability, found = _algorithm_1(model, values, history)
    steps = tuple(Step(Kind.CALLED, int(i), int(i), float(probability[i])) for i in found)
    return Replayed(probability, found, found, steps)


def _algorithm_1(model: Scorer, values: Floats, history: int) -> tuple[Floats, Ints]:
    """Judge points some ahead in one call; those behind a change point again, with their Pre.

    A batch grows while nothing is found: regimes without change are long.
    """
    probability = np.zeros(values.size)
    found: list[int] = []
    start, at, batch = 0, 1, AHEAD
    while at < values.size:
        splits = np.arange(at, min(values.size, at + batch))
        starts = np.maximum(start, [kept_from(int(s), history) for s in splits])
        judged = newest_points(model, values, starts, splits, threads=1)
        hits: npt.NDArray[np.int64] = np.flatnonzero(judged >= model.threshold)
        done = int(hits[0]) + 1 if hits.size else splits.size
        probability[at : at + done] = judged[:done]
        at += done
        if hits.size:
            start, batch = at - 1, AHEAD
            found.append(start)
        else:
            batch = min(2 * batch, LARGEST)
    return probability, np.array(found, dtype=np.int64)


def _probabilities(
    model: Scorer, values: Floats, window: int, history: int, splits: Ints | None = None
) -> Floats:
    """Return by newest point the probability of the point `window` before; 0 if not judged."""
    if splits is None:
        splits = np.arange(RegimeSight.first, values.size - window)
    else:
        splits = splits[splits < values.size - window]
    result = np.zeros(values.size)
    if splits.size:
        starts = np.array([kept_from(int(at), history) for at in splits + window])
        rows = feature_matrix(
            values, starts, splits, splits + window + 1, model.feature_set, threads=1
        )
        result[splits + window] = model.predict_proba(rows)[:, 1]
    return result


def _confirmed(
    model: Scorer, confirm: Scorer, values: Floats, budget: Budget, history: int
) -> Replayed:
    """Compute all looks that can matter, then let the second look take its way."""
    for one in (model, confirm):
        if one.feature_set not in OF_THE_REGIME:
            raise ConfigError(
                f"the feature set {one.feature_set!r} depends on what was called before: replay "
                f"with a second look needs one of {', '.join(OF_THE_REGIME)}"
            )
    if budget.platform is not None:
        raise ConfigError("a platform that learns depends on the order of all series: not replayed")
    judged = {0: _probabilities(model, values, 0, history)}
    judged |= {w: _probabilities(confirm, values, w, history) for w in budget.weights if w}
    surprises = {w: budget.tails[w].surprise(judged[w]) for w in judged}
    hot = np.zeros(values.size, dtype=bool)
    standing = np.zeros(values.size, dtype=bool)  # splits at which an alarm can stand
    for window in budget.weights:
        above = surprises[window] + math.log(budget.weights[window]) >= budget.threshold
        above[: RegimeSight.first + window] = False
        hot |= above
        standing[np.flatnonzero(above) - window] = True
    for window in LOOKS:
        if window not in judged:
            judged[window] = _probabilities(
                confirm, values, window, history, np.flatnonzero(standing)
            )
            surprises[window] = budget.tails[window].surprise(judged[window])
    return _followed(judged, surprises, hot, budget)


def _followed(
    judged: dict[int, Floats],
    surprises: dict[int, Floats],
    hot: npt.NDArray[np.bool_],
    budget: Budget,
) -> Replayed:
    """Let the second look see all points at which something can happen."""
    second = SecondLook(budget)
    alarms: list[int] = []
    steps: list[Step] = []
    standing: set[int] = set()
    for at in range(hot.size):
        if not hot[at] and not second.is_watching(at):
            continue
        looks = [
            Look(window, split, float(judged[window][at]), float(surprises[window][at]))
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
        judged[0],
        np.array(alarms, dtype=np.int64),
        np.array(sorted(standing), dtype=np.int64),
        tuple(steps),
    )
