"""The online detector: decides on each value of one series as it arrives."""

from collections import deque
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from barograph.detection.base import regions
from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import (
    AlarmStep,
    Answer,
    Decision,
    Reason,
    reasons,
)
from barograph.detection.online.newest import (
    COMPARED,
    Departure,
    Settled,
    departure,
    settle,
)
from barograph.detection.online.rule import NewestResult, WindowScore, WindowSplit
from barograph.detection.online.second_look import rule_for
from barograph.detection.online.state import Memory, SavedState, budget_version
from barograph.detection.online.views import HISTORY, REGIME_SETS, HistoryWindow, check_pair
from barograph.errors import ConfigError, DataError
from barograph.logistic import logit
from barograph.models import OnlineModels, TriageModel
from barograph.series import ChangePoint, Floats, as_float, as_floats, require_finite

SHORTEST_HISTORY = 64
RowsByWindow = dict[WindowSplit, Floats]


class OnlineDetector:
    """Decide on each point of one series as it arrives, without any later point.

    The model scores the newest point. One of the feature sets `online` and `confirm` compares it
    with the current level, found from the values alone; one of any other set compares it with
    Pre, from the last change point to the point before. With `confirm`, earlier points are scored
    again as more arrive: change points are confirmed, moved or withdrawn, and the alarms of all
    windows share one budget.

    Without any model, the detector uses the pair that ships with the package. `algorithm_1` makes
    the detector of Bauer et al. 2022.

    Args:
        model: Scores the newest point (window 0).
        confirm: Scores points that 1 to 10 others have followed.
        budget: The alarm budget. Defaults to that of the models' cards, for three false alarms in
            1,000 points.
        history: Maximum number of values to keep; at least half as many are kept at any time. It
            bounds the number of change points and steps as well.

    Example:
        >>> detector = OnlineDetector()
        >>> values = [10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 4
        >>> alarms = [d.newest for d in detector.update_many(values) if d.is_change]
        >>> [point.index for point in detector.change_points]
        [60]
    """

    def __init__(
        self,
        model: TriageModel | None = None,
        confirm: TriageModel | None = None,
        *,
        budget: Budget | None = None,
        history: int = HISTORY,
    ) -> None:
        if model is None:
            if confirm is not None:
                raise ConfigError("confirm needs a model of the newest point, too")
            model, confirm = _default_models().newest, _default_models().confirm
        if history < SHORTEST_HISTORY:
            raise ConfigError(f"history is {history}: it must be {SHORTEST_HISTORY} or more")
        if confirm is None and budget is not None:
            raise ConfigError("a budget is shared between windows: it needs a confirming model")
        if confirm is not None:
            check_pair(model, confirm)
        self._model, self._confirm = model, confirm
        sets = (model.feature_set,) if confirm is None else (model.feature_set, confirm.feature_set)
        self._window = HistoryWindow(history, sets)
        self._first = self._window.view(model.feature_set).first
        self._history = history
        self._budget = budget if confirm is None else budget or Budget.released(model, confirm)
        self._rule = rule_for(model, self._budget)
        self._memory = Memory(deque(maxlen=history), self._rule.state)
        self._before = self._memory  # the newest commit
        self._runs: list[float] = []  # of the newest commit

    @classmethod
    def algorithm_1(cls, model: TriageModel, *, history: int = HISTORY) -> Self:
        """Return a detector that follows Algorithm 1 of Bauer et al. 2022.

        After is the newest point, and Pre runs from the last change point that was found to the
        point before. There is no second look.

        Args:
            model: The paper's is a random forest of the feature set `bauer8`, learned on window 0;
                the stage `algorithm_1` of the studies writes one for your own verdicts.
            history: Maximum number of values to keep. Pre holds no more; in the paper, it has no
                limit.

        Raises:
            ConfigError: The feature set of the model has no Pre.
        """
        if model.feature_set in REGIME_SETS:
            raise ConfigError(
                f"Algorithm 1 compares the newest point with Pre, and the feature set "
                f"{model.feature_set!r} has none; use one like 'bauer8'"
            )
        return cls(model, history=history)

    def __repr__(self) -> str:
        """Return the versions of the models, and what was seen so far."""
        points = self.change_points
        last = f", the last at {points[-1].index}" if points else ""
        models = " and ".join(self._versions)
        return (
            f"OnlineDetector(models {models}; {len(self):,} values, {len(points)} change "
            f"point{'s' * (len(points) != 1)}{last})"
        )

    @property
    def change_points(self) -> list[ChangePoint]:
        """The change points within the kept values that were not withdrawn, in order.

        `before` and `after` describe the kept values; `statistic` is the log odds of the
        probability at the last step.
        """
        base, values = self._window.base, self._window.kept
        places = {index: real for index, real in self._memory.change_points.items() if index > base}
        around = regions(values, [index - base for index in places]) if places else []
        return [
            ChangePoint(
                index=index,
                statistic=float(logit(real)),
                pvalue=None,
                before=before,
                after=after,
                probability=real,
            )
            for (index, real), (before, after) in zip(places.items(), pairwise(around), strict=True)
        ]

    @property
    def steps(self) -> list[AlarmStep]:
        """The last `history` steps, in order."""
        return list(self._memory.steps)

    def __len__(self) -> int:
        """Return how many values have arrived."""
        return self._window.count

    def update(self, value: float) -> Decision:
        """Add the result of a new commit; decide whether a new level begins here or just before.

        Raises:
            DataError: The value is not a finite number. The detector is unchanged.
        """
        number = as_float(value, self._window.count)
        self._before = self._memory
        self._runs = [number]
        self._window.append(number)
        return self._decide(Settled(number, is_step=False, is_clear=True, advised=1))

    def update_many(self, values: npt.ArrayLike) -> list[Decision]:
        """Add the results of several new commits, oldest first.

        Args:
            values: One result of each commit.

        Returns:
            The decision of `update` for each.

        Raises:
            DataError: A value is not a finite number. The detector is unchanged.
        """
        numbers = as_floats(values)
        require_finite(numbers)
        return [self.update(number) for number in numbers.tolist()]

    def repeat(self, value: float) -> Decision:
        """Add a further run of the newest commit, and decide on the commit again.

        The decision depends on the runs of the commit alone, not on what was decided in between.
        Where the first run was a suspect, it is settled now: the answer is change or quiet.

        Raises:
            DataError: There is no commit yet, or the value is not a finite number. The detector is
                unchanged.
        """
        if not self._runs:
            raise DataError("there is no commit to repeat: the first result is an update")
        number = as_float(value, self._window.count - 1)
        self._memory = self._before
        self._rule = rule_for(self._model, self._budget, self._memory.alarm)
        self._runs.append(number)
        settled = settle(self._window.before_newest(), np.array(self._runs))
        self._window.replace_newest(settled.value)
        return self._decide(settled)

    def state(self) -> dict[str, Any]:
        """Return everything the detector knows, for `json.dumps` and `from_state`.

        The models are not included, only their versions.

        Example:
            >>> detector = OnlineDetector()
            >>> decisions = detector.update_many([10.0, 10.1, 9.9] * 20)
            >>> restored = OnlineDetector.from_state(detector.state())
            >>> restored.update(12.0) == detector.update(12.0)
            True
        """
        repeated = bool(self._runs)
        saved = SavedState(
            models=self._versions,
            budget=budget_version(self._budget),
            history=self._history,
            count=self._window.count - repeated,
            values=self._window.before_newest(),
            runs=np.array(self._runs),
            memory=self._before,
        )
        return saved.to_json()

    @classmethod
    def from_state(
        cls,
        state: Mapping[str, Any],
        model: TriageModel | None = None,
        confirm: TriageModel | None = None,
        *,
        budget: Budget | None = None,
    ) -> Self:
        """Restore a detector; it continues with the decisions of the one that was saved.

        Args:
            state: The result of `state`.
            model: As in the detector that was saved.
            confirm: As in the detector that was saved.
            budget: As in the detector that was saved.

        Raises:
            DataError: The state is damaged, or of other models, another budget or another format
                version.
        """
        saved = SavedState.from_json(state)
        detector = cls(model, confirm, budget=budget, history=saved.history)
        for name, known, present in (
            ("models", saved.models, detector._versions),
            ("the alarm budget", saved.budget, budget_version(detector._budget)),
        ):
            if known != present:
                raise DataError(
                    f"the state was saved with {name} {known}; this detector has {present}"
                )
        detector._memory = saved.memory
        detector._rule = rule_for(detector._model, detector._budget, saved.memory.alarm)
        detector._window.restore(saved.count, saved.values.tolist())
        for number, run in enumerate(saved.runs.tolist()):
            detector.repeat(run) if number else detector.update(run)
        return detector

    @property
    def _versions(self) -> list[str]:
        models = [self._model] if self._confirm is None else [self._model, self._confirm]
        return [model.version for model in models]

    def _decide(self, settled: Settled) -> Decision:
        """Decide on the newest value, given what the runs of its commit amount to."""
        place = self._window.count - 1
        rows: RowsByWindow = {}
        departed = self._departure()
        surprise = 0.0 if departed is None else departed.surprise
        has_reruns, way = len(self._runs) > 1, self._window.way
        newest = NewestResult(surprise, has_reruns, settled.is_step, settled.is_clear, way)
        score, sides = partial(self._score, rows), self._window.sides
        answer, alarm, steps, scores = self._rule.advance(place, self._first, score, sides, newest)
        known = self._rule.state_at(place)
        since: int | None = None
        if steps:
            reason = self._memory.reason
            if rows and known is not None and known.change is not None:
                change = known.change
                nearest = min(rows, key=lambda request: abs(request[1] - change))
                reason = nearest[0], rows[nearest]
            self._memory = self._memory.after(steps, self._rule.state, reason)
        if known is not None and known.change is not None and answer is not Answer.SUSPECT:
            index, probability = known.change, known.probability
            explain = self._explain(self._memory.reason)
            since = known.change if alarm is None else None
        elif scores:
            window, index, probability, *_ = alarm or scores[0]
            explain = self._explain((window, rows[window, index]))
        else:
            index, probability, explain = place, 0.0, list
        return Decision(
            *(index, place, probability, answer, since, departed),
            reruns=settled.advised if has_reruns or answer is Answer.SUSPECT else 0,
            steps=tuple(steps),
            explain=explain,
        )

    def _departure(self) -> Departure | None:
        """Return how far the newest value departs, None if it does not."""
        if self._budget is None or self._window.is_newest_within(COMPARED):
            return None
        departed = departure(self._window.before_newest(), self._window.newest)
        return departed if departed.surprise > 0.0 else None

    def _score(self, rows: RowsByWindow, requests: list[WindowSplit]) -> list[WindowScore]:
        """Score windows and splits with one call of each model; note the rows."""
        scores: list[WindowScore] = []
        if requests and requests[0][0] == 0:  # the only request if nothing else can happen
            newest, *requests = requests
            row = rows[newest] = self._row(self._model, *newest)
            real = float(self._model.predict_proba(row[None, :])[0, 1])
            scores.append(self._with_surprise(newest, real))
        if requests:
            model = self._model_of(requests[0][0])
            matrix = np.empty((len(requests), len(model.columns)))
            for k, request in enumerate(requests):
                matrix[k] = rows[request] = self._row(model, *request)
            real_by_row = model.predict_proba(matrix)[:, 1].tolist()
            scores += map(self._with_surprise, requests, real_by_row)
        return scores

    def _with_surprise(self, request: WindowSplit, real: float) -> WindowScore:
        budget = self._budget
        surprise = 0.0 if budget is None else budget.surprise(request[0], real)
        return WindowScore(*request, real, surprise)

    def _model_of(self, window: int) -> TriageModel:
        return self._model if window == 0 or self._confirm is None else self._confirm

    def _row(self, model: TriageModel, window: int, split: int) -> Floats:
        """Describe a point, with Pre from the last change point before it."""
        start = next((c for c in reversed(self._memory.change_points) if c < split), 0)
        return self._window.row(model.feature_set, start, split, split + window + 1)

    def _explain(self, reason: tuple[int, Floats] | None) -> Callable[[], list[Reason]]:
        """Return what computes the reasons for the score of a window."""
        return list if reason is None else partial(reasons, self._model_of(reason[0]), reason[1])


@lru_cache(maxsize=1)
def _default_models() -> OnlineModels:
    return OnlineModels.default()
