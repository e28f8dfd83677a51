"""The decisions on the newest points of whole histories, from no more points than they need.

A decision depends on earlier alarms only as far as a change still stands. So each history is
replayed from a short stretch before its newest points. If that stretch begins with an alarm, a
change may have stood before it, and more of the history is replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from barograph.detection.online.batch import AlarmLog, BatchLog, advance_all
from barograph.detection.online.decision import ANSWERS, AlarmStep, Answer, StepKind
from barograph.detection.online.judge import OnlineJudge
from barograph.detection.online.newest import COMPARED, settle
from barograph.detection.online.pending import Flags, PendingSeries
from barograph.detection.online.second_look import NEAR, SECOND_LOOK_WINDOWS
from barograph.detection.online.views import kept_from
from barograph.series import Floats, Ints

LOOK_BACK = 48  # points replayed before the newest ones, at first
# Without an alarm for as many points, no change stands that later points depend on.
FORGOTTEN = NEAR + SECOND_LOOK_WINDOWS[-1] + 1


class JudgedHistory(NamedTuple):
    """The values of a series, one for each commit.

    Attributes:
        values: The values, oldest first; of several runs of a commit, their median.
        runs: The results of all runs of such a commit, in the order of the runs, by its position.
    """

    values: Floats
    runs: Mapping[int, Floats] = MappingProxyType({})

    def settled(self, history: int) -> Floats:
        """Return the value of each commit that the detector settles on, one commit after another.

        Args:
            history: Number of values kept, as in `OnlineDetector`.
        """
        values = self.values.copy()
        places = np.array(sorted(self.runs), dtype=np.int64)
        results = np.array([self.runs[place][0] for place in places.tolist()])
        todo = places[_is_beyond(values, places, results)]
        while todo.size:
            place, todo = int(todo[0]), todo[1:]
            value = settle(values[kept_from(place, history) : place], self.runs[place]).value
            if value != values[place]:  # later results are compared with it
                values[place] = value
                todo = places[_is_beyond(values, places, results) & (places > place)]
        return values

    def pending(self, settled: Floats, count: int) -> PendingSeries:
        """Return the series with its last points as new ones, whose runs are not settled yet.

        Args:
            settled: The settled values.
            count: Number of new points.
        """
        first = max(0, settled.size - count)
        runs = {place: runs for place, runs in self.runs.items() if place >= first}
        values = settled.copy() if runs else settled
        for place, results in runs.items():
            values[place] = results[0]
        return PendingSeries(values, first, 0, runs=runs)


def _is_beyond(values: Floats, places: Ints, results: Floats) -> Flags:
    """Return whether each result lies beyond the values that it is compared with."""
    padded = np.concatenate([np.full(COMPARED, np.nan), values])
    windows = np.lib.stride_tricks.sliding_window_view(padded, COMPARED)[places]
    low, high = (function(windows, axis=1) for function in (np.fmin.reduce, np.fmax.reduce))
    beyond: Flags = (results < low) | (results > high)
    return beyond


class LatestDecision(NamedTuple):
    """The decision on the newest points of a history.

    Attributes:
        answer: `change` if a change stands whose alarm was raised at one of the newest points,
            else the answer on the newest point.
        change: The first point of the new level of that change, or of the one that is known; the
            newest point if there is none.
        probability: The probability of a change at `change`.
        is_known: Whether a change is known that was reported before the newest points.
        reruns: Number of further runs of the newest commit that are advised.
        baseline_size: Number of values that the newest point was compared with.
        values: The settled value of each commit.
        earlier: The other changes that stand and were reported at one of the newest points.
    """

    answer: Answer
    change: int
    probability: float
    is_known: bool
    reruns: int
    baseline_size: int
    values: Floats
    earlier: tuple[AlarmStep, ...] = ()


def judge_latest(
    judge: OnlineJudge, histories: Sequence[JudgedHistory], count: int = 1
) -> list[LatestDecision]:
    """Decide on the newest points of every history, as a replay of the whole history would.

    Args:
        judge: Decides.
        histories: The series; each has at least one value.
        count: Number of newest points that are judged.
    """
    settled = [one.settled(judge.history) for one in histories]
    decisions: dict[int, LatestDecision] = {}
    reach, todo = LOOK_BACK, [*range(len(histories))]
    while todo:
        pending = [_pending(judge, histories[k], settled[k], count + reach) for k in todo]
        done = advance_all(
            *(pending, judge.model, judge.confirm, judge.budget),
            history=judge.history,
            threads=judge.threads,
        )
        end = 0
        for k, series, log in zip(todo, pending, done.logs, strict=True):
            end += series.values.size - series.first
            if not series.first or all(at >= series.first + FORGOTTEN for at in log.alarms):
                decision = _decision(settled[k], done, end - 1, log, count)
                # Without a second look no change is compared with the one before it.
                decisions[k] = decision if judge.budget else decision._replace(earlier=())
        todo = [k for k in todo if k not in decisions]
        reach *= 4
    return [decisions[k] for k in range(len(histories))]


def _pending(judge: OnlineJudge, series: JudgedHistory, settled: Floats, new: int) -> PendingSeries:
    """Return what is judged; without a second look, decisions depend on all earlier alarms."""
    if judge.budget is None:
        return PendingSeries(settled, 0, 0)
    return series.pending(settled, new)


def _decision(
    values: Floats, done: BatchLog, row: int, log: AlarmLog, count: int
) -> LatestDecision:
    """Return the decision on the newest point of a series, which is a row of the batch."""
    newest = values.size - 1
    more = int(done.reruns[row]), int(done.baseline_size[row]), values
    called = _called(log, newest + 1 - count)
    if called:
        change, probability = called[-1].index, called[-1].probability
        found = LatestDecision(Answer.CHANGE, change, probability, False, *more)
        return found._replace(earlier=tuple(called[:-1]))
    known, probability = int(done.known_since[row]), float(done.probability[row])
    answer = ANSWERS[done.answer[row]]
    if answer is not Answer.SUSPECT:
        answer = Answer.QUIET  # an alarm whose change does not stand any more is none
    change, is_known = (newest, False) if known < 0 else (known, True)
    return LatestDecision(answer, change, probability, is_known, *more)


def _called(log: AlarmLog, since: int) -> list[AlarmStep]:
    """Return the last step of each standing change that was called since a point, in order."""
    called: dict[int, int] = {}  # by place of the change
    steps: dict[int, AlarmStep] = {}
    for step in log.steps:
        before = step.index if step.moved_from is None else step.moved_from
        at = called.pop(before, step.at)
        steps.pop(before, None)
        if step.kind is not StepKind.WITHDRAWN:
            called[step.index] = step.at if step.kind is StepKind.CALLED else at
            steps[step.index] = step
    return [steps[index] for index, at in sorted(called.items()) if at >= since]
