"""Rules for alarms: what they are given and return, and the rule of the newest point alone.

A rule follows one series. As a point arrives it requests scores, then decides: `AlarmRule.advance`
is the only loop body: `OnlineDetector`, `replay_many` and the store's judge all run it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

from barograph.detection.online.decision import AlarmStep, Answer, StepKind
from barograph.detection.online.newest import CONFIRMED_BY_RERUNS

WindowSplit = tuple[int, int]  # window and split
Sides = Callable[[int], tuple[list[float], list[float]]]  # last values before a split, all since


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
    """

    surprise: float
    has_reruns: bool
    is_step: bool
    is_clear: bool


USUAL = NewestResult(0.0, has_reruns=False, is_step=False, is_clear=True)


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
    """

    answer: Answer
    alarm: WindowScore | None
    steps: list[AlarmStep]


Decided = tuple[WindowScore | None, list[AlarmStep]]  # the alarm, and what else happened


class AlarmRule(ABC):
    """Decides on the points of one series, in order."""

    def advance(
        self,
        point: int,
        first: int,
        score: Callable[[list[WindowSplit]], list[WindowScore]],
        sides: Sides,
        newest: NewestResult | None = None,
    ) -> Advance:
        """Decide on a point.

        Args:
            point: The point that arrived.
            first: The first point of the series that can be scored.
            score: Returns the score of each requested window and split.
            sides: Returns the last values before a split, and all values since.
            newest: What is known of this point besides the scores. Defaults to nothing.
        """
        newest = newest or USUAL
        scores = score(self.requests(point, first))
        is_unusual = self.is_unusual(scores, newest)
        if is_unusual and newest.has_reruns:
            scores = [confirmed(scores[0], newest), *scores[1:]]
        was_known = self.knows(point, sides)
        alarm, steps = self.decide(point, scores, sides)
        answer = Answer.QUIET if alarm is None else Answer.CHANGE
        # The newest value also belongs to a change that this very point moves to itself.
        moves = any(step.kind is StepKind.MOVED for step in steps)
        is_known = self.knows(point, sides) or (was_known and moves)
        if is_unusual and alarm is None and not newest.has_reruns and not is_known:
            answer = Answer.SUSPECT
        return Advance(answer, alarm, steps)

    def is_unusual(
        self,
        scores: Sequence[WindowScore],  # noqa: ARG002 - the second look depends on them
        newest: NewestResult,  # noqa: ARG002
    ) -> bool:
        """Whether the newest point is a suspect, or a change if reruns settled its value."""
        return False

    def knows(self, point: int, sides: Sides) -> bool:  # noqa: ARG002 - as above
        """Whether the newest value belongs to a change that is known."""
        return False

    @abstractmethod
    def requests(self, point: int, first: int) -> list[WindowSplit]:
        """Return the windows and splits to score as a point arrives, the newest point first."""

    @abstractmethod
    def decide(self, point: int, scores: Sequence[WindowScore], sides: Sides) -> Decided:
        """Return the alarm that the requested scores raise, if any, and what else happened."""

    def is_watching(self, point: int) -> bool:  # noqa: ARG002 - the second look depends on it
        """Whether something can happen at a point even if no score reaches the threshold."""
        return False

    @property
    def state(self) -> AlarmState | None:
        """The state after the last point; None if there is nothing to remember."""
        return None

    def state_at(self, point: int) -> AlarmState | None:  # noqa: ARG002 - as above
        """Return the state if a score at a point or later can still point near its change."""
        return None


class NewestPointRule(AlarmRule):
    """The newest point is an alarm if its probability reaches the threshold, as in Algorithm 1.

    Args:
        threshold: The minimum probability of an alarm.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold

    def requests(self, point: int, first: int) -> list[WindowSplit]:
        """Request the newest point."""
        return [(0, point)] if point >= first else []

    def decide(
        self,
        point: int,
        scores: Sequence[WindowScore],
        sides: Sides,  # noqa: ARG002 - the second look depends on it
    ) -> Decided:
        """Compare the probability with the threshold."""
        if not scores or scores[0].probability < self._threshold:
            return None, []
        alarm = scores[0]
        return alarm, [AlarmStep(StepKind.CALLED, point, point, alarm.probability)]


def confirmed(score: WindowScore, newest: NewestResult) -> WindowScore:
    """Return the score of a newest point that departs by several runs: it is an alarm."""
    probability = max(score.probability, CONFIRMED_BY_RERUNS if newest.is_step else 0.0)
    return score._replace(probability=probability, is_confirmed=True)
