"""Many series at once: their new points are scored together, then decided one by one.

A model of many trees is fast only with many rows per call. So all scores that can matter are
computed first, and `SecondLook.advance` visits only the points at which something can happen.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import ANSWERS, AlarmStep, Answer, StepKind
from barograph.detection.online.newest import MODEL_LEAD, SUSPECT, departures
from barograph.detection.online.pending import PendingBatch, PendingSeries, batches_of
from barograph.detection.online.rule import AlarmState, NewestResult, WindowScore, WindowSplit
from barograph.detection.online.second_look import MISPLACED, SECOND_LOOK_WINDOWS, SecondLook
from barograph.detection.online.stretch import compared_from
from barograph.detection.online.views import BEFORE, REGIME_SETS, first_scored, sides_of
from barograph.features import feature_matrix
from barograph.models import TriageModel
from barograph.results.series import Flags, Floats, Ints
from barograph.runtime.parallel import map_threads, row_ranges

Answers = npt.NDArray[np.int8]
# If Pre starts at the last change point, scores after an alarm are void and computed again. So a
# round scores only the next points of each series: between 8 and 512, and 16,384 rows in all.
ROWS_PER_ROUND = 16_384
NEAREST, FARTHEST = 8, 512
ROWS_PER_THREAD = 512  # below this, another thread costs more than it saves
ROWS_PER_CALL = 131_072  # bounds the memory for features


@dataclass
class AlarmLog:
    """What happened to one series, by positions in the whole series.

    Attributes:
        alarms: The points at which an alarm was raised.
        steps: What happened to change points, in order.
        states: The state of the second look after each step; empty without a second look.
        state: The state of the second look after the last point; None if nothing matters later.
    """

    alarms: list[int] = field(default_factory=list)
    steps: list[AlarmStep] = field(default_factory=list)
    states: list[AlarmState] = field(default_factory=list)
    state: AlarmState | None = None


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
        change: Flags = self.answer == ANSWERS.index(Answer.CHANGE)
        return change

    @classmethod
    def of(cls, parts: Sequence[Self]) -> Self:
        """Concatenate the decisions on groups of series."""
        *columns, logs = zip(*parts, strict=True)
        joined = [np.concatenate(column) for column in columns]
        return cls._make([*joined, [log for part in logs for log in part]])


_NONE, _NO_COUNT, _NO_ANSWER = np.empty(0), np.empty(0, np.int64), np.empty(0, np.int8)
NOTHING = BatchDecisions(
    *(_NONE, _NONE, _NO_COUNT, _NO_ANSWER, _NONE, _NONE, _NO_ANSWER, _NO_COUNT), logs=[]
)


def advance_all(
    pending: Sequence[PendingSeries],
    model: TriageModel,
    confirm: TriageModel | None = None,
    budget: Budget | None = None,
    *,
    history: int,
    threads: int | None = 1,
) -> BatchDecisions:
    """Decide on the new points of many series, as `OnlineDetector` does on each.

    Args:
        pending: The series.
        model: Scores the newest point.
        confirm: Scores points that others have followed; see `views.check_pair`.
        budget: The alarm budget; required with `confirm`.
        history: Number of values kept of each series, as in `OnlineDetector`.
        threads: Number of threads. Defaults to one per usable core if None. The result does not
            depend on it.
    """
    by_change_points = model.feature_set not in REGIME_SETS
    parts = [
        _Run(batch, model, confirm, budget, threads).decide()
        for batch in batches_of(pending, history, by_change_points=by_change_points)
    ]
    return BatchDecisions.of(parts) if parts else NOTHING


class _Run:
    """One pass over a batch: scores by window and row, and the logs of all series."""

    def __init__(
        self,
        batch: PendingBatch,
        model: TriageModel,
        confirm: TriageModel | None,
        budget: Budget | None,
        threads: int | None,
    ) -> None:
        self._batch, self._budget, self._threads = batch, budget, threads
        self._model, self._confirm = model, confirm
        self._first = first_scored(model)
        self._by_change_points = model.feature_set not in REGIME_SETS
        if self._by_change_points:
            changes = np.repeat(batch.changes, np.diff(batch.bounds))
            self._starts = np.maximum(batch.kept, changes)
        else:
            self._starts = compared_from(batch.values, batch.kept, batch.newest)
        size = batch.newest.size
        self._probability = defaultdict[int, Floats](partial(np.full, size, np.nan))
        self._surprise = defaultdict[int, Floats](partial(np.full, size, np.nan))
        self._hot = np.zeros(size, dtype=np.bool_)  # rows that can raise an alarm
        self._about = np.full(size, np.nan)  # the probability of the change that is raised or known
        self._known = np.full(size, -1, dtype=np.int64)
        self._answer = np.zeros(size, dtype=np.int8)
        self._departure = np.zeros(size)
        if budget is not None:
            self._departure = departures(batch.values, self._starts, batch.newest).surprise

    def decide(self) -> BatchDecisions:
        """Decide on all rows."""
        logs = self._logs()
        newest = np.where(np.isnan(self._probability[0]), 0.0, self._probability[0])
        scored = self._batch.places >= self._first
        sizes = np.where(scored, self._batch.newest - self._starts, 0)
        about = np.where(np.isnan(self._about), newest, self._about)
        settled = self._batch.values[self._batch.newest]
        reruns = (self._answer == ANSWERS.index(Answer.SUSPECT)).astype(np.int8)
        for row, rerun in self._batch.reruns.items():
            reruns[row] = rerun.advised
        surprise = self._departure
        decided = newest, about, self._known, self._answer, surprise, settled, reruns, sizes
        return BatchDecisions(*decided, logs)

    def _logs(self) -> list[AlarmLog]:
        batch = self._batch
        idle = AlarmLog()
        logs = [idle] * len(batch.states)
        watched = np.array([state is not None for state in batch.states])
        done, ends = batch.bounds[:-1].copy(), batch.bounds[1:]
        while (active := np.flatnonzero(done < ends)).size:
            active, counts = self._next(active, ends - done)
            begins = np.cumsum(counts) - counts
            rows = np.arange(counts.sum()) + np.repeat(done[active] - begins, counts)
            self._score_rows(rows)
            busy = np.logical_or.reduceat(self._hot[rows], begins) | watched[active]
            first = done[active]
            done[active] += counts
            for k, row in zip(active[busy].tolist(), first[busy].tolist(), strict=True):
                logs[k] = AlarmLog() if logs[k] is idle else logs[k]
                done[k] = self._follow(k, row, int(done[k]), logs[k])
        return logs

    def _next(self, active: Ints, remaining: Ints) -> tuple[Ints, Ints]:
        """Return the series whose next rows are scored now, and the number of rows of each."""
        if not self._by_change_points:
            return active, remaining[active]
        ahead = min(max(ROWS_PER_ROUND // active.size, NEAREST), FARTHEST)
        counts = np.minimum(remaining[active], ahead)
        together = max(1, int(np.searchsorted(np.cumsum(counts), ROWS_PER_ROUND, "right")))
        return active[:together], counts[:together]

    def _follow(self, k: int, row: int, end: int, log: AlarmLog) -> int:
        """Decide on rows of series k; return the first row that is not decided."""
        if self._budget is None:
            return self._raise_alarms(k, row, end, log)
        rule = SecondLook(self._budget, self._batch.states[k])
        places = self._batch.places
        self._note(rule, row, end)
        while (row := self._next_event(rule, row, end)) < end:
            look, sides = partial(self._look, row), partial(self._sides, row)
            place, newest = int(places[row]), self._newest_result(row)
            answer, alarm, steps = rule.advance(place, self._first, look, sides, newest)
            self._answer[row] = ANSWERS.index(answer)
            log.steps += steps
            if steps:
                log.states += [rule.state] * len(steps)
                self._note(rule, row, end)
            if answer is not Answer.QUIET:
                self._known[row] = -1
            if answer is Answer.SUSPECT:
                self._about[row] = np.nan
            row += 1
            if alarm is not None:
                log.alarms.append(place)
        log.state = rule.state_at(int(places[end - 1]) + 1)
        return end

    def _raise_alarms(self, k: int, row: int, end: int, log: AlarmLog) -> int:
        """Raise an alarm at each hot row, as in Algorithm 1: the newest point alone is judged."""
        for hot in (row + np.flatnonzero(self._hot[row:end])).tolist():
            place, probability = int(self._batch.places[hot]), float(self._probability[0][hot])
            self._answer[hot] = ANSWERS.index(Answer.CHANGE)
            log.steps.append(AlarmStep(StepKind.CALLED, place, place, probability))
            log.alarms.append(place)
            if self._by_change_points:
                self._restart(k, hot + 1)
                return hot + 1
        return end

    def _next_event(self, rule: SecondLook, row: int, end: int) -> int:
        """Return the next row at which something can happen."""
        if row >= end or rule.is_watching(int(self._batch.places[row])):
            return row
        ahead = self._hot[row:end]
        return row + (int(ahead.argmax()) if ahead.any() else ahead.size)

    def _look(self, row: int, requests: list[WindowSplit]) -> list[WindowScore]:
        """Return scores that were computed for a row."""
        return [
            WindowScore(
                *(window, split, float(self._probability[window][row])),
                float(self._surprise[window][row]),
            )
            for window, split in requests
        ]

    def _sides(self, row: int, split: int) -> tuple[list[float], list[float]]:
        """Return the last values before a split, and all values since."""
        newest = int(self._batch.newest[row])
        place = newest - int(self._batch.places[row]) + split
        begin = max(place - BEFORE, int(self._batch.kept[row]))
        return sides_of(self._batch.values[begin : newest + 1].tolist(), place - begin)

    def _newest_result(self, row: int) -> NewestResult:
        """Return what is known of a row besides the scores."""
        rerun = self._batch.reruns.get(row)
        step, clear = (False, True) if rerun is None else (rerun.is_step, rerun.is_clear)
        return NewestResult(float(self._departure[row]), rerun is not None, step, clear)

    def _note(self, rule: SecondLook, row: int, end: int) -> None:
        """Note the standing change for the rows from which it is known."""
        self._about[row:end], self._known[row:end] = np.nan, -1
        state = rule.state_at(int(self._batch.places[row]))
        if state is None or state.change is None:
            return
        last = row + 1
        while last < end and rule.state_at(int(self._batch.places[last])) is not None:
            last += 1
        self._about[row:last], self._known[row:last] = state.probability, state.change

    def _restart(self, k: int, row: int) -> None:
        """Start Pre at the point before a row, for the rest of series k."""
        rest = slice(row, self._batch.bounds[k + 1])
        self._starts[rest] = np.maximum(self._starts[rest], self._batch.newest[row - 1])

    def _score_rows(self, rows: Ints) -> None:
        """Compute all scores of some rows on which an alarm can depend; note hot rows."""
        if self._budget is None:
            self._score({0: self._rows_of(0, rows)})
            self._hot[rows] = self._probability[0][rows] >= self._model.threshold
            return
        standing = self._standing()
        windows = dict.fromkeys((0, *self._budget.weights))
        self._score(
            {window: self._rows_of(window, rows) for window in windows}
            | self._other_windows(rows, standing)
        )
        splits = np.zeros(self._batch.values.size, dtype=np.bool_)
        for window, weight in self._budget.weights.items():
            above = self._surprise[window] + math.log(weight) >= self._budget.threshold
            self._hot |= above
            _mark(splits, self._batch.newest[above] - window)
        self._hot[self._unusual(rows)] = True
        # Reruns can make a point an alarm whatever the model says.
        _mark(splits, self._batch.newest[list(self._batch.reruns)])
        self._score(self._other_windows(rows, splits & ~standing))

    def _unusual(self, rows: Ints) -> Ints:
        """Return the rows of suspects, and those that reruns confirm as steps."""
        scored = rows[self._batch.places[rows] >= self._first]
        model = self._surprise[0][scored] + MODEL_LEAD
        unusual = np.maximum(self._departure[scored], model) >= SUSPECT
        steps = [row for row, rerun in self._batch.reruns.items() if rerun.is_step]
        return np.union1d(scored[unusual], np.intersect1d(scored, steps).astype(np.int64))

    def _standing(self) -> Flags:
        """Mark the values at which a change point stands already."""
        batch = self._batch
        marked = np.zeros(batch.values.size, dtype=np.bool_)
        for first, state in zip(batch.bounds.tolist(), batch.states, strict=False):
            if state is not None and state.change is not None:
                _mark(marked, batch.newest[first] - batch.places[first] + state.change)
        return marked

    def _rows_of(self, window: int, rows: Ints) -> Ints:
        return rows[self._batch.places[rows] >= self._first + window]

    def _other_windows(self, rows: Ints, splits: Flags) -> dict[int, Ints]:
        """Return the rows of windows that raise no alarm, for change points at some splits."""
        if self._budget is None or not splits.any():
            return {}
        newest = self._batch.newest
        rows_by_window = {}
        for window in SECOND_LOOK_WINDOWS:
            if window not in self._budget.weights:
                candidates = self._rows_of(window, rows)
                rows_by_window[window] = candidates[splits[newest[candidates] - window]]
        return rows_by_window

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
        order = np.lexsort((self._batch.newest[rows] - windows, self._starts[rows]))
        rows_, windows_ = rows[order], windows[order]
        threads = self._threads
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
            self._probability[window][part] = probabilities = probability[windows == window]
            if self._budget is not None:
                self._surprise[window][part] = self._budget.tails[window].surprise(probabilities)

    def _probabilities(self, rows: Ints, windows: Ints) -> Floats:
        """Describe points with windows after them; ask each model once."""
        batch = self._batch
        starts, ends = self._starts[rows], batch.newest[rows] + 1
        low, high = int(starts.min()), int(ends.max())
        bounds = starts - low, ends - windows - 1 - low, ends - low
        values = batch.values[low:high]
        if self._confirm is None:
            matrix = feature_matrix(values, *bounds, self._model.feature_set, threads=1)
            return self._model.predict_proba(matrix)[:, 1]
        matrix = feature_matrix(values, *bounds, "confirm", threads=1)
        result = np.empty(rows.size)
        for model, part in ((self._model, windows == 0), (self._confirm, windows > 0)):
            if part.any():  # the columns of `online` are the first ones of `confirm`
                columns = np.ascontiguousarray(matrix[part, : len(model.columns)])
                result[part] = model.predict_proba(columns)[:, 1]
        return result


def _mark(marked: Flags, places: Ints) -> None:
    """Mark places and their neighbours: one of these may be the place of an alarm."""
    near = places[..., None] + np.arange(-MISPLACED, MISPLACED + 1)
    marked[np.clip(near, 0, marked.size - 1)] = True
