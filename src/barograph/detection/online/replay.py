"""The online detector over whole histories, in batches: the decisions of one `update` per point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from barograph.detection.online.batch import AlarmLog, Answers, advance_all
from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import ANSWERS, AlarmStep, Answer
from barograph.detection.online.pending import PendingSeries
from barograph.detection.online.views import HISTORY, check_pair
from barograph.models import TriageModel
from barograph.results.series import Floats, Ints


@dataclass(frozen=True)
class Replay:
    """What the detector would have decided on one history.

    Attributes:
        probability: The probability of each point as the newest one; 0 if it was not scored.
        alarms: The points at which an alarm was raised.
        suspects: The points that were suspects as the newest one.
        change_points: The change points after the last value.
        steps: What happened to change points, in order.
    """

    probability: Floats
    alarms: Ints
    suspects: Ints
    change_points: Ints
    steps: tuple[AlarmStep, ...]

    @classmethod
    def of(cls, probability: Floats, answer: Answers, log: AlarmLog) -> Replay:
        """Derive the change points from the steps of a log."""
        standing: dict[int, float] = {}
        for step in log.steps:
            step.apply(standing)
        alarms, change_points = (
            np.array(places, dtype=np.int64) for places in (log.alarms, sorted(standing))
        )
        suspects = np.flatnonzero(answer == ANSWERS.index(Answer.SUSPECT))
        return cls(probability, alarms, suspects, change_points, tuple(log.steps))


def replay_many(
    model: TriageModel,
    histories: Sequence[Floats],
    confirm: TriageModel | None = None,
    *,
    budget: Budget | None = None,
    history: int = HISTORY,
) -> list[Replay]:
    """Run the detector over many histories; models are faster with many rows per call.

    Args:
        model: Scores the newest point.
        histories: The values of each series, oldest first.
        confirm: Scores points that others have followed. Both models then need a feature set that
            finds the current level by itself: `online` or `confirm`.
        budget: The alarm budget. Defaults to that of the models' cards.
        history: Maximum number of values to keep, as in `OnlineDetector`.

    Returns:
        What the detector would have decided on each history.
    """
    if confirm is not None:
        budget = budget or Budget.released(model, confirm)
        check_pair(model, confirm)
    pending = [PendingSeries(values, 0, 0) for values in histories]
    batch = advance_all(pending, model, confirm, budget, history=history)
    ends = accumulate((values.size for values in histories), initial=0)
    return [
        Replay.of(batch.newest[first:end], batch.answer[first:end], log)
        for (first, end), log in zip(pairwise(ends), batch.logs, strict=True)
    ]
