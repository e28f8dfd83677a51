"""The second look: an alarm is confirmed, moved or withdrawn as more points arrive.

An alarm is about the change it points at, so the second look compares places: a score that points
near the standing change, in its direction, confirms or moves it and raises no second alarm. A step
back is a change of its own; soon after the standing change, only if it is certain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median

from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import AlarmStep, Answer, StepKind
from barograph.detection.online.newest import SUSPECT, suspect_score
from barograph.detection.online.rule import (
    NOTHING,
    USUAL,
    Advance,
    AlarmState,
    Decided,
    NewestResult,
    Sides,
    WindowScore,
    WindowSplit,
    confirmed,
)
from barograph.detection.online.views import direction_of, part_of_step

# Numbers of following points at which a change point is scored again.
SECOND_LOOK_WINDOWS = (1, 2, 3, 5, 7, 10)
# A score within SAME points of the standing change, in its direction, raises no alarm. Up to NEAR
# points after it, a score in that direction is an alarm only if it is higher by SURER nats.
SAME, NEAR = 5, 10
SURER = 1.0
MISPLACED = 1  # the windows that raise alarms point at least at every third place
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


class SecondLook:
    """Alarms of several windows; each is confirmed, moved or withdrawn as more points arrive.

    It follows one series. As a point arrives it requests scores, then decides.

    Args:
        budget: The windows that raise alarms, and their threshold.
        state: The result of `state_at` after earlier points of the series.

    Attributes:
        state: The state after the last point.
    """

    def __init__(self, budget: Budget, state: AlarmState | None = None) -> None:
        self._budget = budget
        self._windows = sorted({0, *budget.weights})
        self._reach = NEAR + self._windows[-1]
        self.state = state or NOTHING

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

    def state_at(self, point: int) -> AlarmState | None:
        """Return the state if a score at a point or later can still point near its change."""
        change = self.state.change
        return None if change is None or point - change > self._reach else self.state

    def is_watching(self, point: int) -> bool:
        """Whether the standing change may be confirmed or withdrawn at this point or later."""
        change = self.state.change
        return change is not None and point - change <= SECOND_LOOK_WINDOWS[-1]

    def is_unusual(self, scores: Sequence[WindowScore], newest: NewestResult) -> bool:
        """Whether the score of a suspect is reached, or reruns confirm a step."""
        if not scores:
            return False
        score = suspect_score(newest.surprise, scores[0].surprise)
        return newest.is_step or (newest.is_clear and score >= SUSPECT)

    def knows(self, point: int, sides: Sides) -> bool:
        """Whether the newest value goes as far as the standing change, or not much farther."""
        state = self.state_at(point)
        if state is None or state.change is None or point <= state.change:
            return False
        before, since = sides(state.change)
        return 0.0 < part_of_step(before, since[:-1], since[-1]) < KNOWN_WAY

    def requests(self, point: int, first: int) -> list[WindowSplit]:
        """Request the newest point, the windows that raise alarms, and the standing change."""
        requests = [(w, point - w) for w in self._windows if point - w >= first]
        change = self.state.change
        if change is not None and change >= first and point - change in SECOND_LOOK_WINDOWS:
            request = (point - change, change)
            if request not in requests:
                requests.append(request)
        return requests

    def decide(self, point: int, scores: Sequence[WindowScore], sides: Sides) -> Decided:
        """Judge the standing change again, then compare the best score with it."""
        best = max(scores, key=self._score, default=None)
        if best is not None and self._score(best) < self._budget.threshold:
            best = None
        if best is not None and self._hides_step_back(best, point, scores[0], sides):
            best = scores[0]
        change = self.state.change
        standing = next((s for s in scores if s.split == change and s.window > 0), None)
        if (
            standing is not None
            and standing.window >= WITHDRAW_WINDOW
            and standing.surprise < WITHDRAW_BELOW
        ):
            return self._withdraw(point, standing, best, sides)
        if best is not None:
            alarm, steps = self._compare(point, best, sides)
            if steps:
                return alarm, steps
        if (
            standing is not None
            and not self.state.confirmed
            and standing.surprise >= self._budget.threshold
        ):
            self.state = self.state._replace(confirmed=True, probability=standing.probability)
            return None, [self._step(StepKind.CONFIRMED, point, standing)]
        return None, []

    def _hides_step_back(
        self, best: WindowScore, point: int, newest: WindowScore, sides: Sides
    ) -> bool:
        """Whether the best score is of the standing change, which reruns say has just ended."""
        change, direction = self.state.change, self.state.direction
        return (
            newest.is_confirmed
            and change is not None
            and abs(best.split - change) <= SAME
            and direction_of(*sides(best.split)) * direction >= 0
            and direction_of(*sides(point)) * direction < 0
        )

    def _score(self, score: WindowScore) -> float:
        least = self._budget.threshold if score.is_confirmed else -math.inf
        if score.window not in self._budget.weights:
            return least
        return max(self._budget.score(score.window, score.surprise), least)

    def _withdraw(
        self, point: int, standing: WindowScore, best: WindowScore | None, sides: Sides
    ) -> Decided:
        """Withdraw the standing change, in favour of the best alarm if there is one.

        Args:
            point: The point that arrived.
            standing: The score of the standing change, which is too low.
            best: The best score of this point, if it reaches the threshold.
            sides: As in `advance`.
        """
        if best is None or best.split == standing.split:
            self.state = NOTHING
            return None, [self._step(StepKind.WITHDRAWN, point, standing)]
        direction = direction_of(*sides(best.split))
        if abs(best.split - standing.split) <= SAME and direction * self.state.direction >= 0:
            return None, [self._take(StepKind.MOVED, point, best, sides, standing.split)]
        return self._call(point, best, sides, standing.split)

    def _compare(self, point: int, best: WindowScore, sides: Sides) -> Decided:
        """Return the alarm and the step of a score that reaches the threshold, if any."""
        change, direction = self.state.change, direction_of(*sides(best.split))
        if change is None:
            return self._call(point, best, sides)
        distance = best.split - change
        is_surer = self._score(best) >= self.state.score + SURER
        if direction * self.state.direction < 0 and distance != 0:
            if not self._has_returned(best, distance):
                return None, []
            return self._call(point, best, sides)
        if abs(distance) <= SAME:
            return None, [
                self._take(StepKind.MOVED, point, best, sides, change)
            ] if is_surer else []
        replaces = 0 < distance <= NEAR
        if replaces and not is_surer:
            return None, []
        return self._call(point, best, sides, change if replaces else None)

    def _call(
        self, point: int, best: WindowScore, sides: Sides, instead_of: int | None = None
    ) -> Decided:
        """Raise an alarm about the place of a score."""
        step = self._take(StepKind.CALLED, point, best, sides, instead_of)
        return best._replace(split=step.index), [step]

    def _has_returned(self, best: WindowScore, distance: int) -> bool:
        """Whether a step back at this distance from the standing change is a change of its own."""
        if distance > NEAR or best.is_confirmed:
            return distance > 0
        certain = self._score(best) >= self._budget.threshold + CERTAIN
        return distance >= SHORTEST_LEVEL and certain

    def _take(
        self,
        kind: StepKind,
        point: int,
        best: WindowScore,
        sides: Sides,
        instead_of: int | None = None,
    ) -> AlarmStep:
        """Make the place of a score the standing change; one that stays there confirms it."""
        placed = best._replace(split=place_of(sides, best.split))
        if kind is StepKind.MOVED and placed.split == instead_of:
            kind, instead_of = StepKind.CONFIRMED, None
        confirmed = best.window > 0 or (kind is not StepKind.CALLED and self.state.confirmed)
        direction = direction_of(*sides(best.split))
        score = self._score(best)
        self.state = AlarmState(placed.split, score, confirmed, direction, best.probability)
        return self._step(kind, point, placed, instead_of)

    def _step(
        self, kind: StepKind, point: int, score: WindowScore, instead_of: int | None = None
    ) -> AlarmStep:
        """Return the step that led to the present state."""
        place = score.split, point, score.probability
        return AlarmStep(kind, *place, instead_of, self.state.score)


def place_of(sides: Sides, split: int) -> int:
    """Return the first split within MISPLACED points of another that fits the values best.

    Scores point only as many points back as the windows have, and at a clear step those of its
    neighbours are as high, so the values decide on the place.

    Example:
        >>> values = [1.0, 1.0, 1.0, 5.0, 5.0, 5.0, 5.0]
        >>> sides = lambda split: (values[:split], values[split:])
        >>> place_of(sides, 3), place_of(sides, 4)
        (3, 3)
    """
    first = split - MISPLACED
    before, since = sides(first)
    if first < 1 or not before:
        return split
    lower, least, place = median(before), math.inf, split
    for skipped in range(min(2 * MISPLACED + 1, len(since))):
        upper = median(since[skipped:])
        distance = sum(abs(value - lower) for value in since[:skipped])
        distance += sum(abs(value - upper) for value in since[skipped:])
        if distance < least:
            least, place = distance, first + skipped
    return place
