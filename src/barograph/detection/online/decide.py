"""Decide on the new points of many series; the detector, the store, `gate` and `replay` call this.

A model of many trees is fast only with many rows per call. So all scores that can matter are
computed first, and `SecondLook.advance` visits only the points at which something can happen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from barograph.detection.online.budget import DEFAULT_RATE, WEIGHTS, Budget
from barograph.detection.online.decision import ANSWERS, AlarmStep, Answer, changes_of
from barograph.detection.online.newest import SUSPECT, Settled, departures, settle
from barograph.detection.online.second_look import (
    BEFORE,
    FIRST_SCORED,
    MISPLACED,
    REACH,
    SECOND_LOOK_WINDOWS,
    AlarmState,
    SecondLook,
    WindowScore,
    requests,
)
from barograph.detection.online.views import HISTORY, compared_from, kept_from
from barograph.features import feature_matrix
from barograph.models import OnlineModels, TriageModel
from barograph.results.series import Flags, Floats, Ints
from barograph.runtime.errors import ConfigError, DataError
from barograph.runtime.parallel import map_threads, row_ranges

Answers = npt.NDArray[np.int8]
REGIME_SETS = ("online", "confirm")  # feature sets that find the current level by themselves
ROWS_PER_THREAD = 512  # below this, another thread costs more than it saves
ROWS_PER_CALL = 131_072  # bounds the memory for features
CHANGE, SUSPECTED = ANSWERS.index(Answer.CHANGE), ANSWERS.index(Answer.SUSPECT)


class PendingSeries(NamedTuple):
    """The last values of one series, some of which are new.

    Attributes:
        values: The values, oldest first; the value of an earlier commit is its settled one.
        first: Position of the first new value.
        base: Number of older values of the series that are not passed.
        state: The state of the second look, by positions in the whole series.
        runs: The results of all runs of a commit, in the order of the runs, by the position of
            its value among `values`, which holds the first of them. Only of new commits with more
            than one run.
    """

    values: Floats
    first: int
    base: int = 0
    state: AlarmState | None = None
    runs: Mapping[int, Floats] = MappingProxyType({})

    def settled(self, history: int) -> tuple[Floats, dict[int, Settled]]:
        """Return the settled value of each commit, and what its runs amount to.

        Args:
            history: Number of values kept, as in `OnlineDetector`.
        """
        values = self.values.copy()
        by_place = {}
        for place in sorted(self.runs):
            begin = max(kept_from(self.base + place, history) - self.base, 0)
            by_place[place] = settle(values[begin:place], self.runs[place])
            values[place] = by_place[place].value
        return values, by_place


@dataclass
class AlarmLog:
    """What happened to one series, by positions in the whole series.

    Attributes:
        alarms: The points at which an alarm was raised.
        steps: What happened to change points, in order.
        states: The state of the second look after each step.
        state: The state of the second look after the last point; None if nothing matters later.
    """

    alarms: list[int] = field(default_factory=list)
    steps: list[AlarmStep] = field(default_factory=list)
    states: list[AlarmState] = field(default_factory=list)
    state: AlarmState | None = None

    @property
    def change_points(self) -> list[int]:
        """The change points that stand after the last step, in order."""
        return sorted({change.index for change in changes_of(self.steps) if change.stands})


class BatchDecisions(NamedTuple):
    """The decisions on the new points of many series, concatenated.

    Attributes:
        newest: The probability of each new point as the newest one; 0 if it was not scored.
        probability: The probability of the change that the decision on each new point is about: the
            one that is raised or known, else a change at this point.
        known_since: Position in the whole series of the change that is known as each new point
            arrives; -1 if there is none.
        answer: The answer on each new point, as its position in ANSWERS.
        surprise: How far each new point departs from what is usual; see `newest.departure`.
        settled: The value of each new point that its runs were settled by.
        reruns: How many further runs of each commit are advised.
        baseline_size: Number of values that each new point was compared with.
        logs: What happened to each series.
    """

    newest: Floats
    probability: Floats
    known_since: Ints
    answer: Answers
    surprise: Floats
    settled: Floats
    reruns: Answers
    baseline_size: Ints
    logs: list[AlarmLog]

    @property
    def is_change(self) -> Flags:
        """Whether an alarm was raised at each new point."""
        change: Flags = self.answer == CHANGE
        return change


class Judge(Protocol):
    """Decides on the points of a store; the decisions depend on the values alone."""

    @property
    def version(self) -> str:
        """The version stored with each decision."""

    @property
    def threshold(self) -> float:
        """The score from which a point is a change."""

    @property
    def history(self) -> int:
        """Maximum number of values read of each series, as in `OnlineDetector`."""

    def judge(self, pending: Sequence[PendingSeries]) -> BatchDecisions:
        """Decide on the new points of every series."""


@dataclass(frozen=True)
class OnlineJudge:
    """The online detector over many series, with the decisions of `OnlineDetector`.

    Args:
        model: Scores the newest point.
        confirm: Scores points that others have followed.
        budget: The alarm budget.
        history: Maximum number of values read of each series.
        threads: Number of threads. Defaults to one per usable core. The decisions do not depend
            on it.
    """

    model: TriageModel
    confirm: TriageModel
    budget: Budget
    history: int = HISTORY
    threads: int | None = None

    def __post_init__(self) -> None:
        """Refuse models whose features depend on earlier alarms."""
        for feature_set in (self.model.feature_set, self.confirm.feature_set):
            if feature_set not in REGIME_SETS:
                raise ConfigError(
                    f"the feature set {feature_set!r} depends on earlier alarms: both online "
                    f"models need one of {', '.join(REGIME_SETS)}"
                )

    @property
    def version(self) -> str:
        """The versions of the models, which are stored with each decision."""
        return f"{self.model.version}+{self.confirm.version}"

    @property
    def threshold(self) -> float:
        """The minimum score of an alarm, in nats."""
        return self.budget.threshold

    def judge(self, pending: Sequence[PendingSeries]) -> BatchDecisions:
        """Decide on the new points of every series."""
        return _Batch(self, pending).decide()


def make_judge(models: OnlineModels, false_alarms_per_1000: float = DEFAULT_RATE) -> OnlineJudge:
    """Return the judge that uses two models with the budget on their cards.

    Args:
        models: The models.
        false_alarms_per_1000: Number of false alarms in 1,000 points of a series, from 1 to 10.

    Raises:
        DataError: A model, its tail rates or its thresholds are missing.
        ConfigError: The rate is not allowed, or the models cannot be used together.

    Example:
        >>> judge = make_judge(OnlineModels.default())
        >>> values = np.array([10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 2)
        >>> judge.judge([PendingSeries(values, 0)]).logs[0].change_points
        [60]
    """
    if models.confirm is None:
        raise DataError(
            "the model file holds no confirming model: train both models again with `barograph "
            "retrain`, or leave out the file to use the built-in models"
        )
    budget = Budget.released(models.newest, models.confirm, false_alarms_per_1000)
    return OnlineJudge(models.newest, models.confirm, budget)


class _Batch:
    """New points of many series in flat arrays, of which each row is a new point."""

    def __init__(self, judge: OnlineJudge, pending: Sequence[PendingSeries]) -> None:
        self._judge, self._threshold = judge, judge.budget.threshold
        # One pass over the series: their objects lie scattered in memory, which is slow.
        columns = [*zip(*pending, strict=True)] or [()] * len(PendingSeries._fields)
        every, first, base, states, runs = columns
        self._states: Sequence[AlarmState | None] = states
        sizes = np.fromiter(map(len, every), np.int64, len(every))
        firsts, bases = (np.array(column, dtype=np.int64) for column in (first, base))
        low = np.maximum(kept_from(bases + firsts, judge.history) - bases, 0)
        counts = sizes - firsts
        self._bounds = np.concatenate([[0], np.cumsum(counts)])  # the rows of each series
        values = list(every)
        self._reruns: dict[int, Settled] = {}  # by row
        for k in [k for k, results in enumerate(runs) if results]:
            values[k], by_place = pending[k].settled(judge.history)
            row = int(self._bounds[k]) - pending[k].first
            self._reruns |= {row + place: rerun for place, rerun in by_place.items()}
        pieces = [piece[k:] for piece, k in zip(values, low.tolist(), strict=True)]
        self._values = np.concatenate([np.empty(0), *pieces])
        ends = np.cumsum(sizes - low)
        self._origins = ends - sizes - bases  # where the first value of each series would be
        size = int(self._bounds[-1])
        origin = np.repeat(self._origins, counts)
        self._newest = np.arange(size) + np.repeat(ends - self._bounds[1:], counts)
        self._places = self._newest - origin
        self._kept = origin + kept_from(self._places, judge.history)
        self._starts = compared_from(self._values, self._kept, self._newest)
        _, self._departure = departures(self._values, self._starts, self._newest)
        windows = (0, *SECOND_LOOK_WINDOWS)
        self._probability = {window: np.full(size, np.nan) for window in windows}
        self._surprise = {window: np.full(size, np.nan) for window in windows}
        self._about = np.full(size, np.nan)  # the probability of the change that is raised or known
        self._known = np.full(size, -1, dtype=np.int64)
        self._answer = np.zeros(size, dtype=np.int8)

    def decide(self) -> BatchDecisions:
        """Decide on all rows."""
        hot, idle = self._score_all(), AlarmLog()
        is_hot = np.diff(np.append(0, np.cumsum(hot))[self._bounds]) > 0
        is_watched = np.array([state is not None for state in self._states], dtype=np.bool_)
        logs = [idle] * is_hot.size
        for k in np.flatnonzero((is_hot | is_watched) & (np.diff(self._bounds) > 0)).tolist():
            logs[k] = self._follow(k, hot)
        newest = np.where(np.isnan(self._probability[0]), 0.0, self._probability[0])
        reruns = (self._answer == SUSPECTED).astype(np.int8)
        for row, rerun in self._reruns.items():
            reruns[row] = rerun.advised
        return BatchDecisions(
            newest=newest,
            probability=np.where(np.isnan(self._about), newest, self._about),
            known_since=self._known,
            answer=self._answer,
            surprise=self._departure,
            settled=self._values[self._newest],
            reruns=reruns,
            baseline_size=np.where(self._places >= FIRST_SCORED, self._newest - self._starts, 0),
            logs=logs,
        )

    def _score_all(self) -> Flags:
        """Compute all scores on which an alarm can depend; return the rows that can have one."""
        size, newest = self._newest.size, self._newest
        changes = [
            origin + state.change
            for origin, state in zip(self._origins.tolist(), self._states, strict=True)
            if state is not None and state.change is not None
        ]
        standing = self._marked(np.array(changes, dtype=np.int64))
        alarming = {window: self._rows_of(window) for window in WEIGHTS}
        self._score(alarming | self._other_windows(standing))
        self._suspicion = self._judge.budget.suspicion(self._departure, self._surprise[0])
        hot: Flags = self._suspicion >= SUSPECT
        # Reruns can make a point an alarm whatever the model says.
        splits = self._marked(newest[list(self._reruns)])
        for row, rerun in self._reruns.items():
            hot[row] |= rerun.is_step and bool(self._places[row] >= FIRST_SCORED)
        for window, bonus in self._judge.budget.log_weights.items():
            above = self._surprise[window] + bonus >= self._threshold
            hot |= above
            splits |= self._marked(newest[above] - window)
        if size:
            self._score(self._other_windows(splits & ~standing))
        return hot

    def _marked(self, places: Ints) -> Flags:
        """Mark values and their neighbours: one of these may be the place of an alarm."""
        marked = np.zeros(self._values.size, dtype=np.bool_)
        near = places[..., None] + np.arange(-MISPLACED, MISPLACED + 1)
        marked[np.clip(near, 0, marked.size - 1)] = True
        return marked

    def _rows_of(self, window: int) -> Ints:
        return np.flatnonzero(self._places >= FIRST_SCORED + window)

    def _other_windows(self, splits: Flags) -> dict[int, Ints]:
        """Return the rows of windows that raise no alarm, for change points at some splits."""
        others = [window for window in SECOND_LOOK_WINDOWS if window not in WEIGHTS]
        rows = {window: self._rows_of(window) for window in others if splits.any()}
        return {window: part[splits[self._newest[part] - window]] for window, part in rows.items()}

    def _score(self, rows_by_window: Mapping[int, Ints]) -> None:
        """Compute the scores of some rows in each window.

        All windows are scored together: those of one point read the same history, and it is
        traversed once. Each thread gets one slice: a tree of a forest is in the cache for all rows
        of a slice, so eight slices of 625 rows take 1.4 times the time of two of 2,500.
        """
        if not rows_by_window:
            return
        rows = np.concatenate(list(rows_by_window.values()))
        windows = np.repeat(list(rows_by_window), [part.size for part in rows_by_window.values()])
        order = np.lexsort((self._newest[rows] - windows, self._starts[rows]))
        rows_, windows_ = rows[order], windows[order]
        threads = self._judge.threads
        scored = map_threads(
            lambda part: self._probabilities(rows_[part], windows_[part]),
            row_ranges(
                *(rows.size, threads), smallest=ROWS_PER_THREAD, largest=ROWS_PER_CALL, parts=1
            ),
            threads=threads,
        )
        probability = np.empty(rows.size)
        probability[order] = np.concatenate([np.empty(0), *scored])
        for window, part in rows_by_window.items():
            self._probability[window][part] = found = probability[windows == window]
            self._surprise[window][part] = self._judge.budget.tails[window].surprise(found)

    def _probabilities(self, rows: Ints, windows: Ints) -> Floats:
        """Describe points with windows after them; ask each model once."""
        starts, ends = self._starts[rows], self._newest[rows] + 1
        low, high = int(starts.min()), int(ends.max())
        bounds = starts - low, ends - windows - 1 - low, ends - low
        matrix = feature_matrix(self._values[low:high], *bounds, "confirm", threads=1)
        result = np.empty(rows.size)
        judge = self._judge
        for model, part in ((judge.model, windows == 0), (judge.confirm, windows > 0)):
            if part.any():  # the columns of `online` are the first ones of `confirm`
                columns = np.ascontiguousarray(matrix[part, : len(model.columns)])
                result[part] = model.predict_proba(columns)[:, 1]
        return result

    def _follow(self, k: int, hot: Flags) -> AlarmLog:
        """Decide on the rows of series k."""
        row, end = self._bounds[k : k + 2].tolist()
        weights, log = self._judge.budget.log_weights, AlarmLog()
        rule = SecondLook(self._threshold, self._states[k], weights)
        self._note(rule.state, row, end)
        while (row := self._next_event(rule, row, end, hot)) < end:
            place, scores = int(self._places[row]), self._scores_at(rule.state, row)
            suspicion, rerun = float(self._suspicion[row]), self._reruns.get(row)
            sides = partial(self._sides, row)
            answer, step = rule.advance(place, scores, sides, suspicion, rerun)
            self._answer[row] = ANSWERS.index(answer)
            if step is not None:
                log.steps.append(step)
                log.states.append(rule.state)
                self._note(rule.state, row, end)
            if answer is Answer.CHANGE:
                log.alarms.append(place)
            if answer is not Answer.QUIET:
                self._known[row] = -1
            if answer is Answer.SUSPECT:
                self._about[row] = np.nan
            row += 1
        log.state = rule.state.at(int(self._places[end - 1]) + 1)
        return log

    def _next_event(self, rule: SecondLook, row: int, end: int, hot: Flags) -> int:
        """Return the next row at which something can happen."""
        if row >= end or rule.is_watching(int(self._places[row])):
            return row
        ahead = hot[row:end]
        return row + (int(ahead.argmax()) if ahead.any() else ahead.size)

    def _scores_at(self, state: AlarmState, row: int) -> list[WindowScore]:
        """Return the scores of a row that the second look asks for."""
        return [
            WindowScore(
                *(window, split, float(self._probability[window][row])),
                float(self._surprise[window][row]),
            )
            for window, split in requests(state, int(self._places[row]))
        ]

    def _sides(self, row: int, split: int) -> tuple[list[float], list[float]]:
        """Return the last values before a split, and all values since."""
        newest = int(self._newest[row])
        place = newest - int(self._places[row]) + split
        begin = max(place - BEFORE, int(self._kept[row]))
        values, before = self._values[begin : newest + 1].tolist(), place - begin
        return values[:before], values[before:]

    def _note(self, state: AlarmState, row: int, end: int) -> None:
        """Note the standing change for the rows from which it is known."""
        self._about[row:end], self._known[row:end] = np.nan, -1
        place = int(self._places[row])
        if state.change is not None and state.at(place) is not None:
            last = min(end, row + state.change + REACH - place + 1)
            self._about[row:last], self._known[row:last] = state.probability, state.change
