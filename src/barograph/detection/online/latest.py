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

from barograph.detection.online.batch import AlarmLog, BatchDecisions
from barograph.detection.online.decision import ANSWERS, AlarmStep, Answer
from barograph.detection.online.judge import OnlineJudge
from barograph.detection.online.newest import COMPARED, settle
from barograph.detection.online.pending import PendingSeries
from barograph.detection.online.second_look import NEAR, SECOND_LOOK_WINDOWS
from barograph.detection.online.stretch import FACTOR
from barograph.detection.online.views import kept_from
from barograph.results.series import Flags, Floats, Ints

LOOK_BACK = 48  # points replayed before the newest ones, at first
# Without an alarm for as many points, no change stands that later points depend on.
FORGOTTEN = NEAR + SECOND_LOOK_WINDOWS[-1] + 1
RECENT = LOOK_BACK - FORGOTTEN - 3  # points before the newest ones whose steps are all returned


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
    """Return whether each result may lie beyond the values that it is compared with."""
    padded = np.concatenate([np.full(COMPARED, np.nan), values])
    windows = np.lib.stride_tricks.sliding_window_view(padded, COMPARED)[places]
    low, high = (function(windows, axis=1) for function in (np.fmin.reduce, np.fmax.reduce))
    sizes = np.abs(windows)
    may_divide = np.fmin.reduce(sizes, axis=1) <= np.fmax.reduce(sizes, axis=1) / FACTOR
    beyond: Flags = (results < low) | (results > high) | may_divide
    return beyond


class LatestDecision(NamedTuple):
    """The decision on the newest point of a history, and what happened shortly before it.

    Attributes:
        answer: The answer on the newest point.
        probability: The probability of the change that it is about: the one that is raised or
            known, else a change at the newest point.
        surprise: How far the newest point departs from what is usual, in nats.
        known_since: The change that is known and whose alarm was raised before; None without one.
        reruns: Number of further runs of the newest commit that are advised.
        baseline_size: Number of values that the newest point was compared with.
        values: The settled value of each commit.
        steps: What happened to change points; complete from `RECENT` points before the newest ones
            that were asked about.
    """

    answer: Answer
    probability: float
    surprise: float
    known_since: int | None
    reruns: int
    baseline_size: int
    values: Floats
    steps: tuple[AlarmStep, ...]


def judge_latest(
    judge: OnlineJudge, histories: Sequence[JudgedHistory], counts: int | Sequence[int] = 1
) -> list[LatestDecision]:
    """Decide on the newest points of every history, as a replay of the whole history would.

    Args:
        judge: Decides.
        histories: The series; each has at least one value.
        counts: Number of newest points of each history that are asked about.
    """
    sizes = [counts] * len(histories) if isinstance(counts, int) else counts
    settled = [history.settled(judge.history) for history in histories]
    decisions: dict[int, LatestDecision] = {}
    reach, todo = LOOK_BACK, [*range(len(histories))]
    while todo:
        pending = [
            histories[k].pending(settled[k], sizes[k] + reach)
            if judge.budget is not None
            else PendingSeries(settled[k], 0, 0)  # decisions depend on all earlier alarms
            for k in todo
        ]
        batch = judge.judge(pending)
        end = 0
        for k, series, log in zip(todo, pending, batch.logs, strict=True):
            end += series.values.size - series.first
            if not series.first or all(place >= series.first + FORGOTTEN for place in log.alarms):
                decisions[k] = _decision(settled[k], batch, end - 1, log)
        todo = [k for k in todo if k not in decisions]
        reach *= 4
    return [decisions[k] for k in range(len(histories))]


def _decision(values: Floats, batch: BatchDecisions, row: int, log: AlarmLog) -> LatestDecision:
    """Return the decision on the newest point of a series, which is a row of the batch."""
    known = int(batch.known_since[row])
    return LatestDecision(
        ANSWERS[batch.answer[row]],
        float(batch.probability[row]),
        float(batch.surprise[row]),
        None if known < 0 else known,
        int(batch.reruns[row]),
        int(batch.baseline_size[row]),
        values,
        tuple(log.steps),
    )
