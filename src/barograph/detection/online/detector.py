"""The online detector: decides on each value of one series as it arrives."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from functools import lru_cache
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from barograph.detection.base import RawChangePoint, describe, require
from barograph.detection.online.algorithm_1 import algorithm_1
from barograph.detection.online.budget import Budget
from barograph.detection.online.decide import BatchDecisions, OnlineJudge, PendingSeries
from barograph.detection.online.decision import (
    ANSWERS,
    AlarmStep,
    Answer,
    Decision,
    changes_of,
)
from barograph.detection.online.newest import departure
from barograph.detection.online.second_look import AlarmState
from barograph.detection.online.state import FORMAT, FORMAT_VERSION, SavedState
from barograph.detection.online.views import HISTORY, kept_from
from barograph.models import OnlineModels, TriageModel
from barograph.models.calibration import logit
from barograph.results.series import ChangePoint, Floats, as_floats, require_finite
from barograph.runtime.compiled import choose
from barograph.runtime.errors import ConfigError, DataError

SHORTEST_HISTORY = 64


class OnlineDetector:
    """Decide on each point of one series as it arrives, without any later point.

    One model compares the newest point with the current level, which is found from the values
    alone. The other one scores earlier points again as more arrive: change points are confirmed,
    moved or withdrawn, and the alarms of all windows share one budget.

    Without any model, the detector uses the pair that ships with the package. `algorithm_1` decides
    on a series as Bauer et al. 2022 do.

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

    algorithm_1 = staticmethod(algorithm_1)

    def __init__(
        self,
        model: TriageModel | None = None,
        confirm: TriageModel | None = None,
        *,
        budget: Budget | None = None,
        history: int = HISTORY,
    ) -> None:
        if model is None and confirm is None:
            models = _default_models()
            model, confirm = models.newest, models.confirm
        if model is None or confirm is None:
            missing = "model" if model is None else "confirm"
            raise ConfigError(
                f"{missing} is missing: the detector needs both models, or neither to use the "
                "built-in ones; OnlineDetector.algorithm_1 takes a single model"
            )
        for name, given in (("model", model), ("confirm", confirm)):
            require(isinstance(given, TriageModel), name, given, "a TriageModel")
        is_whole = isinstance(history, Integral)
        require(
            is_whole and SHORTEST_HISTORY <= history <= sys.maxsize,
            *("history", history, f"a whole number, {SHORTEST_HISTORY} or more"),
        )
        require(budget is None or isinstance(budget, Budget), "budget", budget, "a Budget")
        budget = budget or Budget.released(model, confirm)
        self._judge = OnlineJudge(model, confirm, budget, history)
        self._base, self._values = 0, np.empty(0)  # the kept values
        self._alarm: AlarmState | None = None
        self._alarm_before: AlarmState | None = None  # before the newest commit
        self._steps: deque[AlarmStep] = deque(maxlen=history)
        self._runs: list[float] = []  # of the newest commit

    def __repr__(self) -> str:
        """Return the versions of the models, and what was seen so far."""
        points = self.change_points
        last = f", the last at {points[-1].index}" if points else ""
        models = self._judge.version.replace("+", " and ")
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
        standing = [change for change in changes_of(self._steps) if change.stands]
        places = {
            c.index: c.probability for c in sorted(standing, key=lambda c: c.steps[-1].newest)
        }
        points = [
            RawChangePoint(index - base, float(logit(real)), probability=real)
            for index, real in sorted(places.items())
            if index > base
        ]
        return describe(values, points, base)

    @property
    def steps(self) -> list[AlarmStep]:
        """The last `history` steps, in order."""
        return list(self._steps)

    def __len__(self) -> int:
        """Return how many values have arrived."""
        return self._base + self._values.size

    def update(self, value: float) -> Decision:
        """Add the result of a new commit; decide whether a new level begins here or just before.

        Raises:
            DataError: The value is not a finite number. The detector is unchanged.
        """
        return self.update_many([value])[0]

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
        [run] = numbers = as_floats([value])
        require_finite(numbers)
        self._runs.append(float(run))
        self._values, self._alarm = self._values[:-1], self._alarm_before
        if self._steps and self._steps[-1].newest == len(self):
            self._steps.pop()
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
        count = len(self) - bool(self._runs)
        steps = [step for step in self._steps if step.newest < count]
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "models": self._judge.version.split("+"),
            "budget": self._judge.budget.version,
            "history": self._judge.history,
            "count": count,
            "values": self._values[:-1].tolist(),
            "runs": [*self._runs],
            "alarm": None if self._alarm_before is None else self._alarm_before._asdict(),
            "steps": [[s.kind, s.index, s.newest, s.probability, s.moved_from] for s in steps],
        }

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
        judge = detector._judge
        for name, known, present in (
            ("models", saved.models, judge.version.split("+")),
            ("the alarm budget", saved.budget, judge.budget.version),
        ):
            if known != present:
                raise DataError(
                    f"the state was saved with {name} {known}; this detector has {present}. Give "
                    "the last values of the series to `update_many` of a new detector instead"
                )
        detector._alarm = detector._alarm_before = saved.alarm_state
        detector._steps.extend(AlarmStep(*step) for step in saved.steps)
        detector._values = as_floats(saved.values)
        detector._base = saved.count - detector._values.size
        for number, run in enumerate(saved.runs):
            detector.repeat(run) if number else detector.update(run)
        return detector

    def _decide(self, new: Floats, runs: Mapping[int, Floats]) -> list[Decision]:
        """Decide on new commits; keep their values, and what happened.

        Args:
            new: The first run of each commit, at least one.
            runs: The results of all runs of a commit, by its position after the kept values.
        """
        choose(new.size)
        known, count = self._values.size, len(self)
        values = np.append(self._values, new)
        pending = PendingSeries(values, known, base=self._base, state=self._alarm, runs=runs)
        batch = self._judge.judge([pending])
        values[known:] = batch.settled
        [log] = batch.logs
        happened = {step.newest: k for k, step in enumerate(log.steps)}
        decisions = []
        for row, place in enumerate(range(count, count + new.size)):
            base = kept_from(place, self._judge.history)
            kept = values[base - self._base : known + row + 1]
            self._alarm_before = self._alarm
            steps: tuple[AlarmStep, ...] = ()
            if (k := happened.get(place)) is not None:
                steps, self._alarm = (log.steps[k],), log.states[k]
                self._steps += steps
            decisions.append(self._decision(place, batch, row, steps, kept))
        self._base, self._values = base, kept.copy()  # a view would keep all values of the call
        return decisions

    def _decision(
        self,
        place: int,
        batch: BatchDecisions,
        row: int,
        steps: tuple[AlarmStep, ...],
        kept: Floats,
    ) -> Decision:
        """Return the decision on a row of a batch.

        Args:
            place: The position of the new point.
            batch: The decisions.
            row: The row of the point.
            steps: What happened to a change point as it arrived.
            kept: The values that are kept as it arrives, with its own.
        """
        answer, since = ANSWERS[batch.answer[row]], int(batch.known_since[row])
        is_change = answer is Answer.CHANGE
        departs = batch.surprise[row] > 0.0
        return Decision(
            index=steps[0].index if is_change else place if since < 0 else since,
            newest=place,
            probability=float(batch.probability[row]),
            answer=answer,
            known_since=None if since < 0 else since,
            departure=departure(kept[:-1], float(kept[-1])) if departs else None,
            reruns=int(batch.reruns[row]),
            steps=steps,
        )


@lru_cache(maxsize=1)
def _default_models() -> OnlineModels:
    return OnlineModels.default()
