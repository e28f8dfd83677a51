"""What the second look is given, what it remembers, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from barograph.detection.online.decision import AlarmStep, Answer
from barograph.detection.online.newest import CONFIRMED_BY_RERUNS

WindowSplit = tuple[int, int]  # window and split
Sides = Callable[[int], tuple[list[float], list[float]]]  # last values before a split, all since


class WindowScore(NamedTuple):
    """The score of one point with `window` points after it.

    Attributes:
        window: Number of points after the split.
        split: The point that is scored.
        probability: The probability of a change there.
        surprise: The surprise of that probability in nats.
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


def confirmed(score: WindowScore, newest: NewestResult) -> WindowScore:
    """Return the score of a newest point that departs by several runs: it is an alarm."""
    probability = max(score.probability, CONFIRMED_BY_RERUNS if newest.is_step else 0.0)
    return score._replace(probability=probability, is_confirmed=True)
