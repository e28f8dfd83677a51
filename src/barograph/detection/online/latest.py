"""The decisions on the newest points of whole histories, from no more points than they need.

A decision depends on earlier alarms only as far as a change still stands. So each history is
replayed from a short stretch before its newest points. If that stretch begins with an alarm, a
change may have stood before it, and more of the history is replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from barograph.detection.online.batch import AlarmLog, PendingSeries
from barograph.detection.online.decision import AlarmStep, StepKind
from barograph.detection.online.judge import OnlineJudge
from barograph.series import Floats

LOOK_BACK = 48  # points replayed before the newest ones, at first
# Without an alarm for as many points, no change stands that later points depend on.
FORGOTTEN = 16


class LatestDecision(NamedTuple):
    """The decision on the newest points of a history.

    Attributes:
        is_change: Whether a change stands whose alarm was raised at one of the newest points.
        change: The first point of the new level of that change, or of one known before; the newest
            point if there is none.
        probability: The probability of that change; without a change, that of one at the newest
            point.
        is_known: Whether a change stands near the newest point that was reported earlier.
        baseline_size: Number of values that the newest point was compared with.
    """

    is_change: bool
    change: int
    probability: float
    is_known: bool
    baseline_size: int


def judge_latest(
    judge: OnlineJudge, histories: Sequence[Floats], count: int = 1
) -> list[LatestDecision]:
    """Decide on the newest points of every history, as a replay of the whole history would.

    Args:
        judge: Decides.
        histories: The values of each series, oldest first; at least one value each.
        count: Number of newest points that are judged.
    """
    decisions: list[LatestDecision | None] = [None] * len(histories)
    reach = LOOK_BACK
    while todo := [k for k, one in enumerate(decisions) if one is None]:
        pending = [_pending(judge, histories[k], count + reach) for k in todo]
        for k, decision in zip(todo, _decide(judge, pending, count), strict=True):
            decisions[k] = decision
        reach *= 4
    return [one for one in decisions if one is not None]


def _pending(judge: OnlineJudge, values: Floats, count: int) -> PendingSeries:
    """Return a history with its last points as new ones; without a second look all are new."""
    return PendingSeries(values, 0 if judge.budget is None else max(0, values.size - count), 0)


def _decide(
    judge: OnlineJudge, pending: Sequence[PendingSeries], count: int
) -> list[LatestDecision | None]:
    """Return the decisions, or None for a history of which more has to be replayed."""
    batch = judge.judge(pending)
    decisions: list[LatestDecision | None] = []
    end = 0
    for k, series in enumerate(pending):
        begin, end = end, end + series.values.size - series.first
        newest = series.values.size - 1
        probability, size = float(batch.probability[end - 1]), int(batch.baseline_size[end - 1])
        if batch.logs:
            log = batch.logs[k]
        else:  # every alarm is a change that stands
            alarms = (series.first + batch.is_change[begin:end].nonzero()[0]).tolist()
            called = StepKind.CALLED
            chances = batch.probability[begin:end]
            steps = [AlarmStep(called, t, t, float(chances[t - series.first])) for t in alarms]
            log = AlarmLog(alarms, steps)
        if series.first and any(at < series.first + FORGOTTEN for at in log.alarms):
            decisions.append(None)
            continue
        fresh, known = _standing(log, newest + 1 - count)
        if fresh is not None:
            decision = LatestDecision(True, fresh.index, fresh.probability, False, size)
        elif known is not None:
            decision = LatestDecision(False, known.index, known.probability, True, size)
        else:
            decision = LatestDecision(False, newest, probability, False, size)
        decisions.append(decision)
    return decisions


def _standing(log: AlarmLog, since: int) -> tuple[AlarmStep | None, AlarmStep | None]:
    """Return the last steps of the standing changes: one reported since a point, one before.

    A change that was reported before counts only while later points can still move it.
    """
    alarms = set(log.alarms)
    standing: dict[int, tuple[int, AlarmStep]] = {}  # alarm and last step, by place
    for step in log.steps:
        place = step.index if step.moved_from is None else step.moved_from
        reported, _ = standing.pop(place, (step.at, step))
        if step.kind is not StepKind.WITHDRAWN:
            standing[step.index] = (step.at if step.at in alarms else reported, step)
    fresh = [step for at, step in standing.values() if at >= since]
    watched = None if log.state is None else log.state.change
    known = standing.get(watched) if watched is not None else None
    return (
        max(fresh, key=lambda step: step.index, default=None),
        None if known is None or known[0] >= since else known[1],
    )
