"""What an online detector remembers of one series, in memory and as JSON.

A saved state is that from before the newest commit, with the runs of that commit: the detector
decides on them again when it is restored, so it continues with the same decisions, to the bit.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import AlarmStep, StepKind
from barograph.detection.online.rule import AlarmState
from barograph.detection.online.views import kept_from
from barograph.results.series import Floats, as_floats, require_finite
from barograph.runtime.errors import DataError

FORMAT, FORMAT_VERSION = "barograph-online-detector", 1


@dataclass(frozen=True)
class Memory:
    """What decisions depend on besides the values, and what was decided; it does not change.

    Attributes:
        steps: The last steps, in order.
        alarm: The standing change; None without a second look.
        change_points: The probability of each change point that was not withdrawn, in order.
        reason: The window and the row of features that the standing change rests on.
    """

    steps: deque[AlarmStep]
    alarm: AlarmState | None = None
    change_points: dict[int, float] = field(default_factory=dict)
    reason: tuple[int, Floats] | None = None

    def after(
        self, step: AlarmStep, alarm: AlarmState | None, reason: tuple[int, Floats] | None
    ) -> Self:
        """Return the memory after a further step."""
        change_points = self.change_points.copy()
        step.apply(change_points)
        # A change point dropped here is older than all kept values: no Pre starts there.
        change_points = dict(sorted(change_points.items())[-(self.steps.maxlen or 0) :])
        return type(self)(self.steps + deque([step]), alarm, change_points, reason)

    def to_json(self) -> dict[str, Any]:
        """Return the memory as JSON has it."""
        reason = None if self.reason is None else [self.reason[0], self.reason[1].tolist()]
        return {
            "alarm": None if self.alarm is None else self.alarm._asdict(),
            "change_points": list(self.change_points.items()),
            "steps": [[s.kind, s.index, s.newest, s.probability, s.moved_from] for s in self.steps],
            "reason": reason,
        }

    @classmethod
    def from_json(cls, state: Mapping[str, Any], history: int) -> Self:
        """Restore the result of `to_json`."""
        steps = [_step(*step) for step in state["steps"]]
        alarm, reason = state["alarm"], state["reason"]
        return cls(
            steps=deque(steps, maxlen=history),
            alarm=None if alarm is None else _alarm_state(**alarm),
            change_points=_change_points(state["change_points"]),
            reason=None if reason is None else (int(reason[0]), as_floats(reason[1])),
        )

    def check(self, count: int) -> None:
        """Raise a `ValueError` if a change is not within `count` values: kernels rely on it."""
        places = [*self.change_points]
        change = None if self.alarm is None else self.alarm.change
        for place in places if change is None else [*places, change]:
            if not 0 <= place < count:
                raise ValueError(f"a change at {place} is not within {count} values")
        if places != sorted(places):
            raise ValueError(f"the change points {places} do not ascend")


@dataclass(frozen=True)
class SavedState:
    """A detector's state from before the newest commit, and the runs of that commit.

    Attributes:
        models: The versions of the models.
        budget: The version of the alarm budget; None without one.
        history: Maximum number of values to keep.
        count: Number of values before the newest commit.
        values: The kept values before the newest commit.
        runs: The runs of the newest commit; empty before the first value.
        memory: Everything else.
    """

    models: list[str]
    budget: str | None
    history: int
    count: int
    values: Floats
    runs: Floats
    memory: Memory

    def to_json(self) -> dict[str, Any]:
        """Return the state as an object for `json.dumps`."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "models": self.models,
            "budget": self.budget,
            "history": self.history,
            "count": self.count,
            "values": self.values.tolist(),
            "runs": self.runs.tolist(),
            **self.memory.to_json(),
        }

    @classmethod
    def from_json(cls, state: Any) -> Self:
        """Restore the result of `to_json`.

        Raises:
            DataError: It is no such state, of another version, or damaged.
        """
        if not isinstance(state, Mapping) or state.get("format") != FORMAT:
            raise DataError(f"not the state of an online detector: its format is not {FORMAT!r}")
        if state.get("format_version") != FORMAT_VERSION:
            raise DataError(
                f"the state has the format version {state.get('format_version')!r}; this program "
                f"reads version {FORMAT_VERSION}"
            )
        try:
            history, count = int(state["history"]), int(state["count"])
            values, runs = as_floats(state["values"]), as_floats(state["runs"], "runs")
            require_finite(values)
            require_finite(runs, "runs")
            if values.size != count - (kept_from(count, history) if count else 0):
                raise ValueError(f"{values.size} values of {count} cannot be the kept ones")
            memory = Memory.from_json(state, history)
            memory.check(count)
            models, budget = list(state["models"]), state["budget"]
        except (LookupError, TypeError, ValueError, ArithmeticError) as error:
            raise DataError(
                f"the state of the online detector is damaged: {type(error).__name__}: {error}"
            ) from error
        return cls(models, budget, history, count, values, runs, memory)


def _alarm_state(
    change: int | None, score: float, confirmed: bool, direction: int, probability: float
) -> AlarmState:
    change = None if change is None else int(change)
    numbers = float(score), bool(confirmed), int(direction), float(probability)
    return AlarmState(change, *numbers)


def _change_points(pairs: Sequence[Sequence[Any]]) -> dict[int, float]:
    probabilities = {int(index): float(probability) for index, probability in pairs}
    wrong = [chance for chance in probabilities.values() if not 0.0 <= chance <= 1.0]
    if wrong:
        raise ValueError(f"the probability of a change point is {wrong[0]}")
    return probabilities


def _step(
    kind: str, index: int, newest: int, probability: float, moved_from: int | None
) -> AlarmStep:
    before = None if moved_from is None else int(moved_from)
    return AlarmStep(StepKind(kind), int(index), int(newest), float(probability), before)


def budget_version(budget: Budget | None) -> str | None:
    """Return a hash of everything that decisions depend on in a budget."""
    if budget is None:
        return None
    tails = {str(window): rates.to_card() for window, rates in sorted(budget.tails.items())}
    weights = {str(window): weight for window, weight in sorted(budget.weights.items())}
    content = json.dumps([tails, weights, budget.threshold])
    return hashlib.sha256(content.encode()).hexdigest()[:16]
