"""The online detector: decides on each value of one series as it arrives."""

import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from itertools import zip_longest
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from barograph.detection.base import (
    RawChangePoint,
    as_float,
    describe,
    require,
)
from barograph.detection.online.batch import BatchDecisions
from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import (
    ANSWERS,
    AlarmStep,
    Answer,
    Decision,
    Reason,
    reasons,
    reasons_for_newest,
)
from barograph.detection.online.judge import OnlineJudge
from barograph.detection.online.newest import departure
from barograph.detection.online.pending import PendingSeries
from barograph.detection.online.rule import AlarmState
from barograph.detection.online.second_look import SecondLook
from barograph.detection.online.state import Memory, SavedState, budget_version
from barograph.detection.online.views import (
    HISTORY,
    REGIME_SETS,
    first_scored,
    kept_from,
)
from barograph.features import feature_matrix
from barograph.models import OnlineModels, TriageModel
from barograph.models.logistic import logit
from barograph.results.series import ChangePoint, Floats, as_floats, require_finite
from barograph.runtime.compiled import choose
from barograph.runtime.errors import ConfigError, DataError

SHORTEST_HISTORY = 64


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
        for name, given in (("model", model), ("confirm", confirm)):
            require(given is None or isinstance(given, TriageModel), name, given, "a TriageModel")
        if model is None:
            if confirm is not None:
                raise ConfigError("confirm needs a model of the newest point, too")
            model, confirm = _default_models().newest, _default_models().confirm
        is_whole = isinstance(history, Integral)
        require(
            is_whole and SHORTEST_HISTORY <= history <= sys.maxsize,
            *("history", history, f"a whole number, {SHORTEST_HISTORY} or more"),
        )
        require(budget is None or isinstance(budget, Budget), "budget", budget, "a Budget")
        if confirm is None and budget is not None:
            raise ConfigError("a budget is shared between windows: it needs a confirming model")
        self._judge = OnlineJudge(model, history, confirm)
        if confirm is not None:
            budget = budget or Budget.released(model, confirm)
            self._judge = replace(self._judge, budget=budget)
        self._base, self._values = 0, np.empty(0)  # the kept values
        self._memory = self._before = Memory(deque(maxlen=history))  # before the newest commit
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
        require(isinstance(model, TriageModel), "model", model, "a TriageModel")
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
        base, values = self._base, self._values
        places = {index: real for index, real in self._memory.change_points.items() if index > base}
        return describe(
            values,
            np.arange(base, base + values.size),
            [
                RawChangePoint(index - base, float(logit(real)), probability=real)
                for index, real in places.items()
            ],
        )

    @property
    def steps(self) -> list[AlarmStep]:
        """The last `history` steps, in order."""
        return list(self._memory.steps)

    def __len__(self) -> int:
        """Return how many values have arrived."""
        return self._base + self._values.size

    def update(self, value: float) -> Decision:
        """Add the result of a new commit; decide whether a new level begins here or just before.

        Raises:
            DataError: The value is not a finite number. The detector is unchanged.
        """
        return self.update_many([as_float(value, len(self))])[0]

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
        self._runs = numbers[-1:].tolist() or self._runs
        return self._decide(numbers, {}) if numbers.size else []

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
        self._runs.append(as_float(value, len(self) - 1))
        self._memory, self._values = self._before, self._values[:-1]
        runs = np.array(self._runs)
        return self._decide(runs[:1], {self._values.size: runs})[0]

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
        saved = SavedState(
            models=self._versions,
            budget=budget_version(self._judge.budget),
            history=self._judge.history,
            count=len(self) - bool(self._runs),
            values=self._values[:-1],
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
            ("the alarm budget", saved.budget, budget_version(detector._judge.budget)),
        ):
            if known != present:
                raise DataError(
                    f"the state was saved with {name} {known}; this detector has {present}"
                )
        detector._memory = saved.memory
        detector._base, detector._values = saved.count - saved.values.size, saved.values
        for number, run in enumerate(saved.runs.tolist()):
            detector.repeat(run) if number else detector.update(run)
        return detector

    @property
    def _versions(self) -> list[str]:
        models = self._judge.model, self._judge.confirm
        return [model.version for model in models if model is not None]

    def _decide(self, new: Floats, runs: Mapping[int, Floats]) -> list[Decision]:
        """Decide on new commits; keep their values, and what happened.

        Args:
            new: The first run of each commit, at least one.
            runs: The results of all runs of a commit, by its position after the kept values.
        """
        choose(new.size)
        known, count, memory = self._values.size, len(self), self._memory
        start = max(next(reversed(memory.change_points), 0) - self._base, 0)
        values = np.append(self._values, new)
        pending = PendingSeries(values, known, start, self._base, memory.alarm, runs)
        batch = self._judge.judge([pending])
        values[known:] = batch.settled
        [log] = batch.logs
        happened = {
            step.newest: (step, state)
            for step, state in zip_longest(log.steps, log.states)  # no states without a budget
        }
        decisions = []
        for row, place in enumerate(range(count, count + new.size)):
            base = kept_from(place, self._judge.history)
            kept = values[base - self._base : known + row + 1]
            self._before = self._memory
            step, state = happened.get(place, (None, None))
            if step is not None:
                self._remember(step, state, kept[-1 - int(batch.baseline_size[row]) :])
            decisions.append(self._decision(place, batch, row, step, kept))
        self._base, self._values = base, kept.copy()  # a view would keep all values of the call
        return decisions

    def _remember(self, step: AlarmStep, state: AlarmState | None, compared: Floats) -> None:
        """Note a step, the state after it, and the row of features that the change rests on."""
        reason = self._memory.reason
        change = None if state is None else state.change
        if change is not None and self._judge.budget is not None:
            rule = SecondLook(self._judge.budget, self._memory.alarm)
            requests = rule.requests(step.newest, first_scored(self._judge.model))
            window, _ = min(requests, key=lambda request: abs(request[1] - change))
            split = compared.size - 1 - window
            features = self._model_of(window).feature_set
            [row] = feature_matrix(compared, [0], [split], [compared.size], features, threads=1)
            reason = window, row
        self._memory = self._memory.after(step, state, reason)

    def _decision(
        self, place: int, batch: BatchDecisions, row: int, step: AlarmStep | None, kept: Floats
    ) -> Decision:
        """Return the decision on a row of a batch.

        Args:
            place: The position of the new point.
            batch: The decisions.
            row: The row of the point.
            step: What happened to a change point as it arrived.
            kept: The values that are kept as it arrives, with its own.
        """
        answer, since = ANSWERS[batch.answer[row]], int(batch.known_since[row])
        explain: Callable[[], list[Reason]] = list
        reason = self._memory.reason
        if since >= 0 or (answer is Answer.CHANGE and self._judge.budget is not None):
            if reason is not None:
                explain = partial(reasons, self._model_of(reason[0]), reason[1])
        elif size := int(batch.baseline_size[row]):
            explain = partial(reasons_for_newest, self._judge.model, kept[-1 - size :])
        departs = batch.surprise[row] > 0.0
        index = place if step is None or answer is not Answer.CHANGE else step.index
        return Decision(
            index=index if since < 0 else since,
            newest=place,
            probability=float(batch.probability[row]),
            answer=answer,
            known_since=None if since < 0 else since,
            departure=departure(kept[:-1], float(kept[-1])) if departs else None,
            reruns=int(batch.reruns[row]),
            steps=() if step is None else (step,),
            explain=explain,
        )

    def _model_of(self, window: int) -> TriageModel:
        return self._judge.model if window == 0 else self._judge.confirm or self._judge.model


@lru_cache(maxsize=1)
def _default_models() -> OnlineModels:
    return OnlineModels.default()
