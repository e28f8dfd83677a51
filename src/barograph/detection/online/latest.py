"""The decisions on the newest points of whole histories, from no more points than they need.

A decision depends on earlier alarms only as far as a change still stands. So each history is
replayed from a short stretch before its newest points. If that stretch begins with an alarm, a
change may have stood before it, and more of the history is replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from barograph.detection.online.batch import AlarmLog, BatchLog, advance_all
from barograph.detection.online.decision import ANSWERS, AlarmStep, Answer, StepKind
from barograph.detection.online.judge import OnlineJudge
from barograph.detection.online.pending import PendingSeries
from barograph.detection.online.second_look import NEAR, SECOND_LOOK_WINDOWS
from barograph.series import Floats

LOOK_BACK = 48  # points replayed before the newest ones, at first
# Without an alarm for as many points, no change stands that later points depend on.
FORGOTTEN = NEAR + SECOND_LOOK_WINDOWS[-1] + 1


class LatestDecision(NamedTuple):
    """The decision on the newest points of a history.

    Attributes:
        answer: `change` if a change stands whose alarm was raised at one of the newest points,
            else the answer on the newest point.
        change: The first point of the new level of that change, or of the one that is known; the
            newest point if there is none.
        probability: The probability of a change at `change`.
        is_known: Whether a change is known that was reported before the newest points.
        baseline_size: Number of values that the newest point was compared with.
    """

    answer: Answer
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
    decisions: dict[int, LatestDecision] = {}
    reach, todo = LOOK_BACK, [*range(len(histories))]
    while todo:
        pending = [_pending(judge, histories[k], count + reach) for k in todo]
        done = advance_all(
            *(pending, judge.model, judge.confirm, judge.budget),
            history=judge.history,
            threads=judge.threads,
        )
        end = 0
        for k, series, log in zip(todo, pending, done.logs, strict=True):
            end += series.values.size - series.first
            if not series.first or all(at >= series.first + FORGOTTEN for at in log.alarms):
                decisions[k] = _decision(series.values.size - 1, done, end - 1, log, count)
        todo = [k for k in todo if k not in decisions]
        reach *= 4
    return [decisions[k] for k in range(len(histories))]


def _pending(judge: OnlineJudge, values: Floats, count: int) -> PendingSeries:
    """Return a history with its last points as new ones; without a second look all are new."""
    return PendingSeries(values, 0 if judge.budget is None else max(0, values.size - count), 0)


def _decision(newest: int, done: BatchLog, row: int, log: AlarmLog, count: int) -> LatestDecision:
    """Return the decision on the newest point of a series, which is a row of the batch."""
    size, known = int(done.baseline_size[row]), int(done.known_since[row])
    called = _called(log, newest + 1 - count)
    if called is not None:
        return LatestDecision(Answer.CHANGE, called.index, called.probability, False, size)
    probability = float(done.probability[row])
    if known >= 0:
        return LatestDecision(Answer.QUIET, known, probability, True, size)
    # An alarm whose change does not stand any more is none.
    is_suspect = ANSWERS[done.answer[row]] is Answer.SUSPECT
    answer = Answer.SUSPECT if is_suspect else Answer.QUIET
    return LatestDecision(answer, newest, probability, False, size)


def _called(log: AlarmLog, since: int) -> AlarmStep | None:
    """Return the last step of the newest standing change that was called since a point."""
    called: dict[int, int] = {}  # by place of the change
    steps: dict[int, AlarmStep] = {}
    for step in log.steps:
        before = step.index if step.moved_from is None else step.moved_from
        at = called.pop(before, step.at)
        steps.pop(before, None)
        if step.kind is not StepKind.WITHDRAWN:
            called[step.index] = step.at if step.kind is StepKind.CALLED else at
            steps[step.index] = step
    fresh = [index for index, at in called.items() if at >= since]
    return steps[max(fresh)] if fresh else None
