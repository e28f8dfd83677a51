"""The online detector: decides on each value of one series as it arrives."""

from collections import deque
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import (
    AlarmStep,
    Answer,
    Decision,
    Reason,
    StepKind,
    reasons,
)
from barograph.detection.online.newest import (
    COMPARED,
    Departure,
    advised_reruns,
    departure,
    settle,
)
from barograph.detection.online.second_look import (
    AlarmRule,
    NewestResult,
    Request,
    WindowScore,
    rule_for,
)
from barograph.detection.online.views import HISTORY, HistoryWindow, check_pair
from barograph.errors import ConfigError, DataError
from barograph.models import TriageModel
from barograph.series import Floats, as_float

SHORTEST_HISTORY = 64
Rows = dict[Request, Floats]


@dataclass(frozen=True)
class _Undo:
    """What the detector knew before the newest commit, besides the values."""

    rule: AlarmRule
    change_points: list[int]
    steps: deque[AlarmStep]
    explain: Callable[[], list[Reason]]

    @classmethod
    def of(
        cls,
        rule: AlarmRule,
        change_points: list[int],
        steps: deque[AlarmStep],
        explain: Callable[[], list[Reason]],
    ) -> Self:
        return cls(copy(rule), list(change_points), steps.copy(), explain)


class OnlineDetector:
    """Decide on each point of one series as it arrives, without any later point.

    With one model this is Algorithm 1 of Bauer et al. 2022: the model scores the newest point
    against Pre, which runs from the last change point to the point before. A model of the feature
    set `online` finds the current level from the values alone instead. With `confirm`, earlier
    points are scored again as more arrive: change points are confirmed, moved or withdrawn, and
    the alarms of all windows share one budget.

    Args:
        model: Scores the newest point (window 0).
        confirm: Scores points that 1 to 10 others have followed.
        budget: The alarm budget. Defaults to that of the models' cards, for three false alarms in
            1,000 points.
        history: Maximum number of values to keep; at least half as many are kept at any time. It
            bounds the number of change points and steps as well.
    """

    def __init__(
        self,
        model: TriageModel,
        confirm: TriageModel | None = None,
        *,
        budget: Budget | None = None,
        history: int = HISTORY,
    ) -> None:
        if history < SHORTEST_HISTORY:
            raise ConfigError(f"history is {history}: it must be {SHORTEST_HISTORY} or more")
        if confirm is None and budget is not None:
            raise ConfigError("a budget is shared between windows: it needs a confirming model")
        if confirm is not None:
            check_pair(model, confirm)
        self._model, self._confirm = model, confirm
        sets = (model.feature_set,) if confirm is None else (model.feature_set, confirm.feature_set)
        self._window = HistoryWindow(history, sets)
        view = self._window.view(model.feature_set)
        self._first, self._by_change_points = view.first, view.by_change_points
        self._history = history
        self._budget = budget if confirm is None else budget or Budget.released(model, confirm)
        self._rule = rule_for(model, self._budget)
        self._change_points: list[int] = []
        self._steps: deque[AlarmStep] = deque(maxlen=history)
        self._explain: Callable[[], list[Reason]] = list  # of the known change
        self._runs: list[float] = []  # of the newest commit
        self._undo: _Undo | None = None

    @property
    def change_points(self) -> list[int]:
        """The last `history` change points that were not withdrawn, in order."""
        return list(self._change_points)

    @property
    def steps(self) -> list[AlarmStep]:
        """The last `history` steps, in order."""
        return list(self._steps)

    def __len__(self) -> int:
        """Return how many values have arrived."""
        return self._window.count

    def update(self, value: float) -> Decision:
        """Add the result of a new commit; decide whether a new level begins here or just before.

        Raises:
            DataError: The value is not a finite number. The detector is unchanged.
        """
        number = as_float(value, self._window.count)
        self._undo = _Undo.of(self._rule, self._change_points, self._steps, self._explain)
        self._runs = [number]
        self._window.append(number)
        return self._decide()

    def repeat(self, value: float) -> Decision:
        """Add a further run of the newest commit, and decide on the commit again.

        The decision depends on the runs of the commit alone, not on what was decided in between.
        Where the first run was a suspect, it is settled now: the answer is change or quiet.

        Raises:
            DataError: There is no commit yet, or the value is not a finite number. The detector is
                unchanged.
        """
        if self._undo is None:
            raise DataError("there is no commit to repeat: the first result is an update")
        number = as_float(value, self._window.count - 1)
        self._rule = copy(self._undo.rule)
        self._change_points = list(self._undo.change_points)
        self._steps, self._explain = self._undo.steps.copy(), self._undo.explain
        self._runs.append(number)
        settled = settle(self._window.before_newest(), np.array(self._runs))
        self._window.replace_newest(settled.value)
        return self._decide(is_step=settled.is_step, is_clear=settled.is_clear)

    def _decide(self, *, is_step: bool = False, is_clear: bool = True) -> Decision:
        """Decide on the newest value, which is settled."""
        at = self._window.count - 1
        rows: Rows = {}
        departed = self._departure()
        surprise = 0.0 if departed is None else departed.surprise
        has_reruns, way = len(self._runs) > 1, self._window.way
        newest = NewestResult(surprise, has_reruns, is_step, is_clear, way)
        score, rise = partial(self._score, rows), self._window.direction
        answer, alarm, steps, scores = self._rule.advance(at, self._first, score, rise, newest)
        if steps:
            self._record(steps)
        known = self._rule.state_at(at)
        since: int | None = None
        if known is not None and known.change is not None and answer is not Answer.SUSPECT:
            row = rows.get((at - known.change, known.change))
            if steps and row is not None:
                self._explain = partial(reasons, self._model_of(at - known.change), row)
            index, probability, explain = known.change, known.probability, self._explain
            since = known.change if alarm is None else None
        elif scores:
            window, index, probability, *_ = alarm or scores[0]
            explain = partial(reasons, self._model_of(window), rows[window, index])
        else:
            index, probability, explain = at, 0.0, list
        return Decision(
            *(index, at, probability, answer, since, departed, self._advised(answer)),
            steps=tuple(steps),
            explain=explain,
        )

    def _departure(self) -> Departure | None:
        """Return how far the newest value departs, None if it does not."""
        if self._budget is None or self._window.is_newest_within(COMPARED):
            return None
        departed = departure(self._window.before_newest(), self._window.newest)
        return departed if departed.surprise > 0.0 else None

    def _advised(self, answer: Answer) -> int:
        """Return how many further runs of the newest commit are advised."""
        if answer is Answer.SUSPECT:
            return 1
        if len(self._runs) == 1:
            return 0
        return advised_reruns(self._window.before_newest(), np.array(self._runs))

    def _score(self, rows: Rows, requests: list[Request]) -> list[WindowScore]:
        """Score windows and splits with one call of each model; note the rows."""
        scores: list[WindowScore] = []
        later = requests
        if requests and requests[0][0] == 0:
            later = requests[1:]
            row = rows[requests[0]] = self._row(self._model, *requests[0])
            scores += self._with_surprise(requests[:1], self._model.predict_proba(row[None, :]))
        if later:
            model = self._model_of(later[0][0])
            matrix = np.empty((len(later), len(model.columns)))
            for k, request in enumerate(later):
                matrix[k] = rows[request] = self._row(model, *request)
            scores += self._with_surprise(later, model.predict_proba(matrix))
        return scores

    def _with_surprise(self, requests: list[Request], probabilities: Floats) -> list[WindowScore]:
        budget = self._budget
        return [
            WindowScore(
                window, split, real, 0.0 if budget is None else budget.surprise(window, real)
            )
            for (window, split), real in zip(requests, probabilities[:, 1].tolist(), strict=True)
        ]

    def _model_of(self, window: int) -> TriageModel:
        """Return the model of a window."""
        return self._model if window == 0 or self._confirm is None else self._confirm

    def _row(self, model: TriageModel, window: int, split: int) -> Floats:
        """Describe a point, with Pre from the last change point before it."""
        start = next((c for c in reversed(self._change_points) if c < split), 0)
        return self._window.row(model.feature_set, start, split, split + window + 1)

    def _record(self, steps: list[AlarmStep]) -> None:
        """Append the steps and update the change points."""
        for step in steps:
            gone = step.index if step.kind is StepKind.WITHDRAWN else step.moved_from
            if gone in self._change_points:
                self._change_points.remove(gone)
            begins = step.kind in (StepKind.CALLED, StepKind.MOVED)
            if begins and step.index not in self._change_points:
                # A change point dropped here is older than all kept values: no Pre starts there.
                known = sorted([*self._change_points, step.index])
                self._change_points = known[-self._history :]
        self._steps += steps
