"""The rules for alarms: Algorithm 1 alone, or with a second look as more points arrive.

A rule follows one series. As a point arrives it requests scores, then decides: `AlarmRule.advance`
is the only loop body, and `OnlineDetector`, `replay` and the store's judge all run it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import AlarmStep, StepKind
from barograph.models import TriageModel

# Numbers of following points at which a change point is scored again.
SECOND_LOOK_WINDOWS = (1, 2, 3, 5, 7, 10)
# An alarm within REPEAT points of another is a repeat, unless its score is higher by SURER nats.
REPEAT = 5
SURER = 1.0
# A change point is withdrawn if, in a window of WITHDRAW_WINDOW or more, its surprise is below
# WITHDRAW_BELOW nats: one quiet point in twenty looks as real.
WITHDRAW_WINDOW = 2
WITHDRAW_BELOW = 3.0

Request = tuple[int, int]  # window and split


class WindowScore(NamedTuple):
    """The score of one point with `window` points after it.

    Attributes:
        window: Number of points after the split.
        split: The point that is scored.
        probability: The probability of a change there.
        surprise: The surprise of that probability in nats; 0 without a budget.
    """

    window: int
    split: int
    probability: float
    surprise: float


class AlarmState(NamedTuple):
    """All that the second look needs to know about earlier points.

    Attributes:
        change: The change point that may still be withdrawn, or None.
        at: The point at which the last alarm was raised.
        score: The score of that alarm.
        confirmed: Whether a later window confirmed the change point.
    """

    change: int | None
    at: int
    score: float
    confirmed: bool


class Advance(NamedTuple):
    """What happened as one point arrived.

    Attributes:
        alarm: The alarm that was raised, if any.
        steps: What happened to change points, in order.
        scores: All scores that were requested.
    """

    alarm: WindowScore | None
    steps: list[AlarmStep]
    scores: list[WindowScore]


class AlarmRule(ABC):
    """Decides on the points of one series, in order."""

    def advance(
        self, at: int, first: int, score: Callable[[list[Request]], list[WindowScore]]
    ) -> Advance:
        """Decide on point `at`.

        Args:
            at: The point that arrived.
            first: The first point of the series that can be scored.
            score: Returns the score of each requested window and split.
        """
        scores = score(self.requests(at, first))
        alarm, steps = self.decide(at, scores)
        return Advance(alarm, steps, scores)

    @abstractmethod
    def requests(self, at: int, first: int) -> list[Request]:
        """Return the windows and splits to score as point `at` arrives, window 0 first."""

    @abstractmethod
    def decide(
        self, at: int, scores: Sequence[WindowScore]
    ) -> tuple[WindowScore | None, list[AlarmStep]]:
        """Return the alarm that the requested scores raise, if any, and what else happened."""

    def is_watching(self, at: int) -> bool:  # noqa: ARG002 - the second look depends on it
        """Whether something can happen at point `at` even if no score reaches the threshold."""
        return False

    @property
    def state(self) -> AlarmState | None:
        """The state after the last point; None if there is nothing to remember."""
        return None

    def state_at(self, at: int) -> AlarmState | None:  # noqa: ARG002 - as above
        """Return the state as far as point `at` and later ones can depend on it."""
        return None


class NewestPointRule(AlarmRule):
    """Algorithm 1: the newest point is an alarm if its probability reaches the threshold.

    Args:
        threshold: The minimum probability of an alarm.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold

    def requests(self, at: int, first: int) -> list[Request]:
        """Request the newest point."""
        return [(0, at)] if at >= first else []

    def decide(
        self, at: int, scores: Sequence[WindowScore]
    ) -> tuple[WindowScore | None, list[AlarmStep]]:
        """Compare the probability with the threshold."""
        if not scores or scores[0].probability < self._threshold:
            return None, []
        alarm = scores[0]
        return alarm, [AlarmStep(StepKind.CALLED, at, at, alarm.probability)]


class RepeatGate:
    """Lets an alarm pass unless it repeats the one before.

    Args:
        at: The point at which the last alarm was raised.
        score: The score of that alarm.
    """

    def __init__(self, at: int = -REPEAT - 1, score: float = 0.0) -> None:
        self.at, self.score = at, score

    def passes(self, at: int, score: float) -> bool:
        """Return whether an alarm passes; remember it if so."""
        if at - self.at <= REPEAT and score < self.score + SURER:
            return False
        self.at, self.score = at, score
        return True


def without_repeats(candidates: Iterator[tuple[int, float]]) -> Iterator[int]:
    """Yield the points of the alarms that are no repeats.

    Args:
        candidates: Point and score of every alarm of one series, in order.
    """
    gate = RepeatGate()
    return (at for at, score in candidates if gate.passes(at, score))


class SecondLook(AlarmRule):
    """Alarms of several windows; each is confirmed, moved or withdrawn as more points arrive.

    Args:
        budget: The windows that raise alarms, and their threshold.
        state: The result of `state_at` after earlier points of the series.
    """

    def __init__(self, budget: Budget, state: AlarmState | None = None) -> None:
        self._budget = budget
        self._windows = sorted(budget.weights)
        self._gate = RepeatGate() if state is None else RepeatGate(state.at, state.score)
        before = state or AlarmState(None, 0, 0.0, confirmed=False)
        self._change = before.change
        self._at = before.at
        self._confirmed = before.confirmed

    @property
    def state(self) -> AlarmState:
        """The state after the last point."""
        return AlarmState(self._change, self._gate.at, self._gate.score, self._confirmed)

    def state_at(self, at: int) -> AlarmState | None:
        """Return the state as far as point `at` and later ones can depend on it."""
        over = at - self._gate.at > REPEAT and not self.is_watching(at)
        return None if over else self.state

    def is_watching(self, at: int) -> bool:
        """Whether a change point may still be confirmed or withdrawn."""
        return self._change is not None and at - self._change <= SECOND_LOOK_WINDOWS[-1]

    def requests(self, at: int, first: int) -> list[Request]:
        """Request the windows that raise alarms, and the change point that may be withdrawn."""
        requests = [(w, at - w) for w in self._windows if at - w >= first]
        if self._change is not None:
            own = (at - self._change, self._change)
            if own[0] in SECOND_LOOK_WINDOWS and own not in requests:
                requests.append(own)
        return requests

    def decide(
        self, at: int, scores: Sequence[WindowScore]
    ) -> tuple[WindowScore | None, list[AlarmStep]]:
        """Raise the best alarm if it is no repeat; otherwise judge the change point again."""
        best = max(scores, key=self._score, default=None)
        alarm = best if best is not None and self._score(best) >= self._budget.threshold else None
        if alarm is not None and self._gate.passes(at, self._score(alarm)):
            return alarm, [self._raise(at, alarm)]
        own = next((s for s in scores if s.split == self._change and s.window > 0), None)
        return None, [] if own is None else self._judge_again(at, own, alarm)

    def _score(self, score: WindowScore) -> float:
        if score.window not in self._budget.weights:
            return -math.inf
        return self._budget.score(score.window, score.surprise)

    def _raise(self, at: int, alarm: WindowScore) -> AlarmStep:
        """Take the alarm's split as the change point; return what happened to the last one."""
        before, is_near = self._change, at - self._at <= REPEAT
        self._change, self._at = alarm.split, at
        if before is None or not is_near:
            self._confirmed = alarm.window > 0
            return AlarmStep(StepKind.CALLED, alarm.split, at, alarm.probability)
        self._confirmed |= alarm.window > 0
        if before == alarm.split:
            return AlarmStep(StepKind.CONFIRMED, alarm.split, at, alarm.probability)
        return AlarmStep(StepKind.MOVED, alarm.split, at, alarm.probability, moved_from=before)

    def _judge_again(self, at: int, own: WindowScore, other: WindowScore | None) -> list[AlarmStep]:
        """Withdraw, move or confirm the change point.

        Args:
            at: The point that arrived.
            own: The score of the change point.
            other: The best alarm of this point, which is a repeat.
        """
        if own.window >= WITHDRAW_WINDOW and own.surprise < WITHDRAW_BELOW:
            if other is not None and other.split != own.split:
                self._change = other.split
                moved = StepKind.MOVED
                return [AlarmStep(moved, other.split, at, other.probability, moved_from=own.split)]
            self._change = None
            return [AlarmStep(StepKind.WITHDRAWN, own.split, at, own.probability)]
        if not self._confirmed and own.surprise >= self._budget.threshold:
            self._confirmed = True
            return [AlarmStep(StepKind.CONFIRMED, own.split, at, own.probability)]
        return []


def rule_for(
    model: TriageModel, budget: Budget | None, state: AlarmState | None = None
) -> AlarmRule:
    """Return the rule for one series: with a budget, the second look."""
    return NewestPointRule(model.threshold) if budget is None else SecondLook(budget, state)
