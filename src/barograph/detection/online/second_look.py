"""The rules for alarms: the newest point alone, or with a second look as more points arrive.

A rule follows one series. As a point arrives it requests scores, then decides: `AlarmRule.advance`
is the only loop body, and `OnlineDetector`, `replay` and the store's judge all run it.

An alarm is about the change it points at, so the second look compares places: a score that points
near the standing change, in its direction, confirms or moves it and raises no second alarm. A step
back is a change of its own; soon after the standing change, only if it is certain.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import AlarmStep, Answer, StepKind
from barograph.detection.online.newest import CONFIRMED_BY_RERUNS, SUSPECT, suspect_score
from barograph.models import TriageModel

# Numbers of following points at which a change point is scored again.
SECOND_LOOK_WINDOWS = (1, 2, 3, 5, 7, 10)
# A score within SAME points of the standing change, in its direction, raises no alarm. Up to NEAR
# points after it, a score in that direction is an alarm only if it is higher by SURER nats.
SAME, NEAR = 5, 10
SURER = 1.0
# A step back that soon is an alarm only if it is CERTAIN nats above the threshold, and if the level
# lasted for SHORTEST_LEVEL points: fewer are a spike.
CERTAIN = 3.0
SHORTEST_LEVEL = 3
# The newest result is no suspect if it goes less than twice as far as the standing change.
KNOWN_WAY = 2.0
# A change point is withdrawn if, in a window of WITHDRAW_WINDOW or more, its surprise is below
# WITHDRAW_BELOW nats: one quiet point in twenty looks as real.
WITHDRAW_WINDOW = 2
WITHDRAW_BELOW = 3.0

Request = tuple[int, int]  # window and split
Rise = Callable[[int], int]  # from a split to the direction of the step there


class WindowScore(NamedTuple):
    """The score of one point with `window` points after it.

    Attributes:
        window: Number of points after the split.
        split: The point that is scored.
        probability: The probability of a change there.
        surprise: The surprise of that probability in nats; 0 without a budget.
        is_confirmed: Whether reruns confirm that the newest point departs.
    """

    window: int
    split: int
    probability: float
    surprise: float
    is_confirmed: bool = False


class NewestResult(NamedTuple):
    """What is known of the newest point besides the scores.

    Attributes:
        surprise: How far it departs from what is usual; see `newest.departure`.
        has_reruns: Whether its value was settled by several runs.
        is_step: Whether those runs confirm a step.
        is_clear: Whether they agree more than they differ from the level before.
        way: Returns which part of the step at a change point its value has gone.
    """

    surprise: float
    has_reruns: bool
    is_step: bool
    is_clear: bool
    way: Callable[[int], float]


USUAL = NewestResult(0.0, has_reruns=False, is_step=False, is_clear=True, way=lambda _: math.inf)


class AlarmState(NamedTuple):
    """The standing change: all that the second look needs to know about earlier points.

    Attributes:
        change: The change point that later scores are compared with, or None.
        score: The score that it was last called, moved or confirmed with.
        confirmed: Whether a later window confirmed it.
        direction: 1 if the level rose there, -1 if it fell, 0 if neither.
        probability: The probability of the change at its last step.
    """

    change: int | None
    score: float
    confirmed: bool
    direction: int
    probability: float


NOTHING = AlarmState(None, 0.0, confirmed=False, direction=0, probability=0.0)


class Advance(NamedTuple):
    """What happened as one point arrived.

    Attributes:
        answer: The answer on the newest point.
        alarm: The alarm that was raised, if any.
        steps: What happened to change points, in order.
        scores: All scores that were requested.
    """

    answer: Answer
    alarm: WindowScore | None
    steps: list[AlarmStep]
    scores: list[WindowScore]


Decided = tuple[WindowScore | None, list[AlarmStep]]  # the alarm, and what else happened


class AlarmRule(ABC):
    """Decides on the points of one series, in order."""

    def advance(
        self,
        at: int,
        first: int,
        score: Callable[[list[Request]], list[WindowScore]],
        rise: Rise,
        newest: NewestResult | None = None,
    ) -> Advance:
        """Decide on point `at`.

        Args:
            at: The point that arrived.
            first: The first point of the series that can be scored.
            score: Returns the score of each requested window and split.
            rise: Returns the direction of the step at a split, from the values so far.
            newest: What is known of this point besides the scores. Defaults to nothing.
        """
        newest = newest or USUAL
        scores = score(self.requests(at, first))
        is_unusual = self.is_unusual(scores, newest)
        if is_unusual and newest.has_reruns:
            scores = [confirmed(scores[0], newest), *scores[1:]]
        was_known = self.knows(at, newest)
        alarm, steps = self.decide(at, scores, rise)
        answer = Answer.QUIET if alarm is None else Answer.CHANGE
        # The newest value also belongs to a change that this very point moves to itself.
        moves = any(step.kind is StepKind.MOVED for step in steps)
        is_known = self.knows(at, newest) or (was_known and moves)
        if is_unusual and alarm is None and not newest.has_reruns and not is_known:
            answer = Answer.SUSPECT
        return Advance(answer, alarm, steps, scores)

    def is_unusual(
        self,
        scores: Sequence[WindowScore],  # noqa: ARG002 - the second look depends on them
        newest: NewestResult,  # noqa: ARG002
    ) -> bool:
        """Whether the newest point is a suspect, or a change if reruns settled its value."""
        return False

    def knows(self, at: int, newest: NewestResult) -> bool:  # noqa: ARG002 - as above
        """Whether the newest value belongs to a change that is known."""
        return False

    @abstractmethod
    def requests(self, at: int, first: int) -> list[Request]:
        """Return the windows and splits to score as point `at` arrives, the newest point first."""

    @abstractmethod
    def decide(self, at: int, scores: Sequence[WindowScore], rise: Rise) -> Decided:
        """Return the alarm that the requested scores raise, if any, and what else happened."""

    def is_watching(self, at: int) -> bool:  # noqa: ARG002 - the second look depends on it
        """Whether something can happen at point `at` even if no score reaches the threshold."""
        return False

    @property
    def state(self) -> AlarmState | None:
        """The state after the last point; None if there is nothing to remember."""
        return None

    def state_at(self, at: int) -> AlarmState | None:  # noqa: ARG002 - as above
        """Return the state if a score at point `at` or later can still point near its change."""
        return None


class NewestPointRule(AlarmRule):
    """The newest point is an alarm if its probability reaches the threshold, as in Algorithm 1.

    Args:
        threshold: The minimum probability of an alarm.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold

    def requests(self, at: int, first: int) -> list[Request]:
        """Request the newest point."""
        return [(0, at)] if at >= first else []

    def decide(
        self,
        at: int,
        scores: Sequence[WindowScore],
        rise: Rise,  # noqa: ARG002 - the second look depends on it
    ) -> Decided:
        """Compare the probability with the threshold."""
        if not scores or scores[0].probability < self._threshold:
            return None, []
        alarm = scores[0]
        return alarm, [AlarmStep(StepKind.CALLED, at, at, alarm.probability)]


class SecondLook(AlarmRule):
    """Alarms of several windows; each is confirmed, moved or withdrawn as more points arrive.

    Args:
        budget: The windows that raise alarms, and their threshold.
        state: The result of `state_at` after earlier points of the series.
    """

    def __init__(self, budget: Budget, state: AlarmState | None = None) -> None:
        self._budget = budget
        self._windows = sorted({0, *budget.weights})
        self._reach = NEAR + self._windows[-1]
        self._state = state or NOTHING

    @property
    def state(self) -> AlarmState:
        """The state after the last point."""
        return self._state

    def state_at(self, at: int) -> AlarmState | None:
        """Return the state if a score at point `at` or later can still point near its change."""
        change = self._state.change
        return None if change is None or at - change > self._reach else self._state

    def is_watching(self, at: int) -> bool:
        """Whether the standing change may be confirmed or withdrawn at this point or later."""
        change = self._state.change
        return change is not None and at - change <= SECOND_LOOK_WINDOWS[-1]

    def is_unusual(self, scores: Sequence[WindowScore], newest: NewestResult) -> bool:
        """Whether the score of a suspect is reached, or reruns confirm a step."""
        if not scores:
            return False
        score = suspect_score(newest.surprise, scores[0].surprise)
        return newest.is_step or (newest.is_clear and score >= SUSPECT)

    def knows(self, at: int, newest: NewestResult) -> bool:
        """Whether the newest value goes as far as the standing change, or not much farther."""
        state = self.state_at(at)
        return (
            state is not None
            and state.change is not None
            and at > state.change
            and (0.0 < newest.way(state.change) < KNOWN_WAY)
        )

    def requests(self, at: int, first: int) -> list[Request]:
        """Request the newest point, the windows that raise alarms, and the standing change."""
        requests = [(w, at - w) for w in self._windows if at - w >= first]
        change = self._state.change
        if change is not None and at - change in SECOND_LOOK_WINDOWS:
            request = (at - change, change)
            if request not in requests:
                requests.append(request)
        return requests

    def decide(self, at: int, scores: Sequence[WindowScore], rise: Rise) -> Decided:
        """Judge the standing change again, then compare the best score with it."""
        best = max(scores, key=self._score, default=None)
        if best is not None and self._score(best) < self._budget.threshold:
            best = None
        if best is not None and self._hides_step_back(best, at, scores[0], rise):
            best = scores[0]
        change = self._state.change
        standing = next((s for s in scores if s.split == change and s.window > 0), None)
        if (
            standing is not None
            and standing.window >= WITHDRAW_WINDOW
            and standing.surprise < WITHDRAW_BELOW
        ):
            return self._withdraw(at, standing, best, rise)
        if best is not None:
            alarm, step = self._compare(at, best, rise(best.split))
            if step is not None:
                return alarm, [step]
        if standing is not None and not self._state.confirmed and self._is_sure(standing):
            self._state = self._state._replace(confirmed=True, probability=standing.probability)
            return None, [self._step(StepKind.CONFIRMED, at, standing)]
        return None, []

    def _hides_step_back(self, best: WindowScore, at: int, newest: WindowScore, rise: Rise) -> bool:
        """Whether the best score is of the standing change, which reruns say has just ended."""
        change, direction = self._state.change, self._state.direction
        return (
            newest.is_confirmed
            and change is not None
            and abs(best.split - change) <= SAME
            and rise(best.split) * direction >= 0
            and rise(at) * direction < 0
        )

    def _score(self, score: WindowScore) -> float:
        least = self._budget.threshold if score.is_confirmed else -math.inf
        if score.window not in self._budget.weights:
            return least
        return max(self._budget.score(score.window, score.surprise), least)

    def _is_sure(self, standing: WindowScore) -> bool:
        return standing.surprise >= self._budget.threshold

    def _withdraw(
        self, at: int, standing: WindowScore, best: WindowScore | None, rise: Rise
    ) -> Decided:
        """Withdraw the standing change, in favour of the best alarm if there is one.

        Args:
            at: The point that arrived.
            standing: The score of the standing change, which is too low.
            best: The best score of this point, if it reaches the threshold.
            rise: As in `advance`.
        """
        if best is None or best.split == standing.split:
            self._state = NOTHING
            return None, [self._step(StepKind.WITHDRAWN, at, standing)]
        direction = rise(best.split)
        if abs(best.split - standing.split) <= SAME and direction * self._state.direction >= 0:
            return None, [self._take(StepKind.MOVED, at, best, direction, standing.split)]
        return best, [self._take(StepKind.CALLED, at, best, direction, standing.split)]

    def _compare(
        self, at: int, best: WindowScore, direction: int
    ) -> tuple[WindowScore | None, AlarmStep | None]:
        """Return the alarm and the step of a score that reaches the threshold, if any."""
        change = self._state.change
        if change is None:
            return best, self._take(StepKind.CALLED, at, best, direction)
        distance = best.split - change
        is_surer = self._score(best) >= self._state.score + SURER
        if direction * self._state.direction < 0 and distance != 0:
            if not self._has_returned(best, distance):
                return None, None
            return best, self._take(StepKind.CALLED, at, best, direction)
        if abs(distance) <= SAME:
            return None, self._again(at, best, direction) if is_surer else None
        replaces = 0 < distance <= NEAR
        if replaces and not is_surer:
            return None, None
        return best, self._take(StepKind.CALLED, at, best, direction, change if replaces else None)

    def _has_returned(self, best: WindowScore, distance: int) -> bool:
        """Whether a step back at this distance from the standing change is a change of its own."""
        if distance > NEAR or best.is_confirmed:
            return distance > 0
        certain = self._score(best) >= self._budget.threshold + CERTAIN
        return distance >= SHORTEST_LEVEL and certain

    def _again(self, at: int, best: WindowScore, direction: int) -> AlarmStep:
        """Confirm or move the standing change."""
        if best.split == self._state.change:
            return self._take(StepKind.CONFIRMED, at, best, direction)
        return self._take(StepKind.MOVED, at, best, direction, self._state.change)

    def _take(
        self,
        kind: StepKind,
        at: int,
        best: WindowScore,
        direction: int,
        instead_of: int | None = None,
    ) -> AlarmStep:
        """Make a split the standing change."""
        confirmed = best.window > 0 or (kind is not StepKind.CALLED and self._state.confirmed)
        score = self._score(best)
        self._state = AlarmState(best.split, score, confirmed, direction, best.probability)
        return self._step(kind, at, best, instead_of)

    def _step(
        self, kind: StepKind, at: int, score: WindowScore, instead_of: int | None = None
    ) -> AlarmStep:
        """Return the step that led to the present state."""
        place = score.split, at, score.probability
        return AlarmStep(kind, *place, instead_of, self._state.score)


def confirmed(score: WindowScore, newest: NewestResult) -> WindowScore:
    """Return the score of a newest point that departs by several runs: it is an alarm."""
    probability = max(score.probability, CONFIRMED_BY_RERUNS if newest.is_step else 0.0)
    return score._replace(probability=probability, is_confirmed=True)


def rule_for(
    model: TriageModel, budget: Budget | None, state: AlarmState | None = None
) -> AlarmRule:
    """Return the rule for one series: with a budget, the second look."""
    return NewestPointRule(model.threshold) if budget is None else SecondLook(budget, state)
