"""The decisions on the newest points of whole histories, from no more points than they need.

A decision depends on earlier alarms only as far as a change still stands. So each history is
replayed from a short stretch before its newest points. If that stretch begins with an alarm, a
change may have stood before it, and more of the history is replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.detection.online.decide import (
    SUSPECTED,
    BatchDecisions,
    OnlineJudge,
    PendingSeries,
)
from barograph.detection.online.decision import ANSWERS, AlarmStep, Answer
from barograph.detection.online.newest import COMPARED, settle
from barograph.detection.online.second_look import NEAR, SECOND_LOOK_WINDOWS
from barograph.detection.online.views import FACTOR, kept_from
from barograph.results.series import Flags, Floats, Ints

LOOK_BACK = 48  # points replayed before the newest ones, at first
# Without an alarm for as many points, no change stands that later points depend on.
FORGOTTEN = NEAR + SECOND_LOOK_WINDOWS[-1] + 1
RECENT = LOOK_BACK - FORGOTTEN - 3  # points before the newest ones whose steps are all returned

COLUMNS = BatchDecisions._fields[1:-1]
ANSWER = COLUMNS.index("answer")

# The value of each commit, of several runs their median, and all runs of such a commit by position.
CommitValues = tuple[Floats, Mapping[int, Floats]]


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
        columns: The COLUMNS of `BatchDecisions` about the last points.
    """

    answer: Answer
    probability: float
    surprise: float
    known_since: int | None
    reruns: int
    baseline_size: int
    values: Floats
    steps: list[AlarmStep]
    columns: Sequence[npt.NDArray[Any]] = ()

    @property
    def has_suspects(self) -> bool:
        """Whether one of the last points was a suspect."""
        return bool((self.columns[ANSWER] == SUSPECTED).any())

    def at(self, place: int) -> LatestDecision:
        """Return the decision on an earlier point, as it was before later points arrived.

        Args:
            place: The point, at most `RECENT` points before the newest ones that were asked about.
        """
        decided = _decided(self.columns, place - self.values.size)
        steps = [step for step in self.steps if step.newest <= place]
        count = self.values.size - 1 - place
        columns = [column[: column.size - count] for column in self.columns]
        return LatestDecision(*decided, self.values[: place + 1], steps, columns)


def judge_latest(
    judge: OnlineJudge, histories: Sequence[CommitValues], counts: Sequence[int]
) -> list[LatestDecision]:
    """Decide on the newest points of every history, as a replay of the whole history would.

    Args:
        judge: Decides.
        histories: The series; each has at least one value.
        counts: Number of newest points of each history that are asked about.
    """
    settled = [_settled(*history, judge.history) for history in histories]
    decisions: dict[int, LatestDecision] = {}
    reach, todo = LOOK_BACK, [*range(len(histories))]
    while todo:
        pending = [_pending(settled[k], histories[k][1], counts[k] + reach) for k in todo]
        batch = judge.judge(pending)
        end = 0
        for k, series, log in zip(todo, pending, batch.logs, strict=True):
            begin, end = end, end + series.values.size - series.first
            if not series.first or all(a >= series.first + FORGOTTEN for a in log.alarms):
                columns = [column[begin:end] for column in batch[1:-1]]
                decided = _decided(columns, -1)
                decisions[k] = LatestDecision(*decided, settled[k], log.steps, columns)
        todo = [k for k in todo if k not in decisions]
        reach *= 4
    return [decisions[k] for k in range(len(histories))]


def _decided(
    columns: Sequence[npt.NDArray[Any]], row: int
) -> tuple[Answer, float, float, int | None, int, int]:
    """Return what the columns of a batch say about the point of a row."""
    values = (column[row].item() for column in columns)
    probability, known, answer, surprise, _, reruns, size = values
    return ANSWERS[answer], probability, surprise, None if known < 0 else known, reruns, size


def _pending(settled: Floats, runs: Mapping[int, Floats], count: int) -> PendingSeries:
    """Return a series with its last points as new ones, whose runs are not settled yet."""
    first = max(0, settled.size - count)
    recent = {place: results for place, results in runs.items() if place >= first}
    values = settled.copy() if recent else settled
    for place, results in recent.items():
        values[place] = results[0]
    return PendingSeries(values, first, runs=recent)


def _settled(values: Floats, runs: Mapping[int, Floats], history: int) -> Floats:
    """Return the value of each commit that the detector settles on, one commit after another.

    It is the median of the runs, unless the first of them departs.
    """
    values = values.copy()
    places = np.array(sorted(runs), dtype=np.int64)
    results = np.array([runs[place][0] for place in places.tolist()])
    todo = places[_is_beyond(values, places, results)]
    while todo.size:
        place, todo = int(todo[0]), todo[1:]
        value = settle(values[kept_from(place, history) : place], runs[place]).value
        if value != values[place]:  # later results are compared with it
            values[place] = value
            todo = places[_is_beyond(values, places, results) & (places > place)]
    return values


def _is_beyond(values: Floats, places: Ints, results: Floats) -> Flags:
    """Return whether each result may lie beyond the values that it is compared with."""
    padded = np.concatenate([np.full(COMPARED, np.nan), values])
    windows = np.lib.stride_tricks.sliding_window_view(padded, COMPARED)[places]
    low, high = (function(windows, axis=1) for function in (np.fmin.reduce, np.fmax.reduce))
    sizes = np.abs(windows)
    may_divide = np.fmin.reduce(sizes, axis=1) <= np.fmax.reduce(sizes, axis=1) / FACTOR
    beyond: Flags = (results < low) | (results > high) | may_divide
    return beyond
