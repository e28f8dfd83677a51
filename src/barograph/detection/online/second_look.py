"""The second look: an alarm is confirmed, moved or withdrawn as more points arrive.

An alarm is about the change it points at, so the second look compares places: a score that points
near the standing change, in its direction, confirms or moves it and raises no second alarm. A step
back is a change of its own; soon after the standing change, only if it is certain. A second step in
the same direction is one, too, if the level between the two differs from both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from barograph.detection.levels import SHORTEST_LEVEL, is_own_level
from barograph.detection.online.budget import WEIGHTS, log_weights
from barograph.detection.online.decision import AlarmStep, Answer, StepKind
from barograph.detection.online.newest import CONFIRMED_BY_RERUNS, SUSPECT, Settled

# Numbers of following points at which a change point is scored again.
SECOND_LOOK_WINDOWS = (1, 2, 3, 5, 7, 10)
FIRST_SCORED = 5  # the first point of a series that can be judged
# The direction of a step is that of the median of the points from the split on, against the median
# of this many points before it. Up to five points after a step, half of them lie before the step.
BEFORE = 10
# A score within SAME points of the standing change, in its direction, raises no alarm. Up to NEAR
# points after it, a score in that direction is an alarm only if it is higher by SURER nats.
SAME, NEAR = 5, 10
SURER = 1.0
REACH = NEAR + max(WEIGHTS)  # scores of later points point at no place near the change
MISPLACED = 1  # the windows that raise alarms point at least at every third place
# A step back that soon is an alarm only if it is CERTAIN nats above the threshold, and if the level
# lasted for SHORTEST_LEVEL points: fewer are a spike.
CERTAIN = 3.0
# A second step in the direction of the first counts once that many results follow it.
FOLLOWED = 2
# With fewer results before the newest one, a single unusual result is a suspect: an alarm needs
# FOLLOWED results after the change. A result that went less than RETURNED of the way from the level
# before the change, or before the last result, is back, and no suspect.
FEW = 15
RETURNED = 0.5
# The newest result is no suspect if it goes less than twice as far as the standing change.
KNOWN_WAY = 2.0
# A change point is withdrawn if, in a window of WITHDRAW_WINDOW or more, its surprise is below
# WITHDRAW_BELOW nats: one quiet point in twenty looks as real.
WITHDRAW_WINDOW = 2
WITHDRAW_BELOW = 3.0

LOG_WEIGHTS = log_weights(WEIGHTS)
Sides = Callable[[int], tuple[list[float], list[float]]]  # last values before a split, all since


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

    def at(self, point: int) -> AlarmState | None:
        """Return the state if a score at a point or later can still point near its change."""
        return None if self.change is None or point - self.change > REACH else self


NOTHING = AlarmState(None, 0.0, confirmed=False, direction=0, probability=0.0)


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


def requests(state: AlarmState, point: int) -> list[tuple[int, int]]:
    """Return the windows and splits that are scored as a point arrives.

    These are the newest point, the windows that raise alarms, and the standing change.
    """
    windows = [(window, point - window) for window in WEIGHTS]
    change = state.change
    if change is not None and point - change in SECOND_LOOK_WINDOWS:
        windows += [(point - change, change)] if point - change not in WEIGHTS else []
    return [(window, split) for window, split in windows if split >= FIRST_SCORED]


class SecondLook:
    """Alarms of several windows; each is confirmed, moved or withdrawn as more points arrive.

    It follows one series.

    Args:
        threshold: The minimum score of an alarm, in nats.
        state: The state after earlier points of the series.
        log_weights: The log of the weight of each window that raises alarms.

    Attributes:
        state: The state after the last point.
    """

    def __init__(
        self,
        threshold: float,
        state: AlarmState | None = None,
        log_weights: Mapping[int, float] = LOG_WEIGHTS,
    ) -> None:
        self._threshold, self._log_weights = threshold, log_weights
        self.state = state or NOTHING

    def advance(
        self,
        point: int,
        scores: Sequence[WindowScore],
        sides: Sides,
        suspicion: float = 0.0,
        rerun: Settled | None = None,
    ) -> tuple[Answer, AlarmStep | None]:
        """Decide on a point.

        Args:
            point: The point that arrived.
            scores: The scores of `requests`, in its order.
            sides: Returns the last values before a split, and all values since.
            suspicion: The score of the point as a suspect; see `Budget.suspicion`.
            rerun: What its runs amount to, if it has several.

        Returns:
            The answer on the point, and what happened to a change, if anything.
        """
        is_unusual = bool(scores) and self._is_unusual(point, scores[0], suspicion, rerun, sides)
        if is_unusual and rerun is not None:
            sure = CONFIRMED_BY_RERUNS if rerun.is_step else 0.0
            probability = max(scores[0].probability, sure)
            newest = scores[0]._replace(probability=probability, is_confirmed=True)
            scores = [newest, *scores[1:]]
        was_known = self._knows(point, sides)
        step = self.decide(point, scores, sides)
        if step is not None and step.kind is StepKind.CALLED:
            return Answer.CHANGE, step
        # The newest value also belongs to a change that this very point moves to itself.
        moves = step is not None and step.kind is StepKind.MOVED
        is_known = self._knows(point, sides) or (was_known and moves)
        is_suspect = is_unusual and rerun is None and not is_known
        return Answer.SUSPECT if is_suspect else Answer.QUIET, step

    def is_watching(self, point: int) -> bool:
        """Whether the standing change may be confirmed or withdrawn at this point or later."""
        change = self.state.change
        return change is not None and point - change <= SECOND_LOOK_WINDOWS[-1]

    def decide(self, point: int, scores: Sequence[WindowScore], sides: Sides) -> AlarmStep | None:
        """Judge the standing change again, then compare the best score with it."""
        if point < FEW:
            scores = [score for score in scores if self._is_followed(point, score, sides)]
        best = self._best(point, scores, sides)
        change = self.state.change
        standing = next((s for s in scores if s.split == change and s.window > 0), None)
        if (
            standing is not None
            and standing.window >= WITHDRAW_WINDOW
            and standing.surprise < WITHDRAW_BELOW
        ):
            return self._withdraw(point, standing, best, sides)
        second = next((s for s in scores if self._is_second_step(s, sides)), None)
        if second is not None:
            return self._take(StepKind.CALLED, point, second, sides)
        step = None if best is None else self._compare(point, best, sides)
        if (
            step is None
            and standing is not None
            and not self.state.confirmed
            and standing.surprise >= self._threshold
        ):
            self.state = self.state._replace(confirmed=True, probability=standing.probability)
            return self._step(StepKind.CONFIRMED, point, standing)
        return step

    def _is_second_step(self, score: WindowScore, sides: Sides) -> bool:
        """Whether a score is an alarm about a step beyond that of the standing change."""
        change = self.state.change
        is_alarm = score.window >= FOLLOWED and self._is_alarm(score)
        return is_alarm and change is not None and self._is_beyond(change, score.split, sides)

    def _is_beyond(self, first: int, second: int, sides: Sides) -> bool:
        """Whether two places are two steps in one direction, with a level of its own between."""
        if not SHORTEST_LEVEL <= second - first <= NEAR:
            return False
        before, since = sides(first)
        between, after = since[: second - first], since[second - first :]
        directions = direction_of(before, between), direction_of(between, after)
        return directions[0] == directions[1] and is_own_level(before, between, after)

    def _knows(self, point: int, sides: Sides) -> bool:
        """Whether the newest value goes as far as the standing change, or not much farther."""
        state = self.state.at(point)
        if state is None or state.change is None or point <= state.change:
            return False
        return 0.0 < part_of_step(*sides(state.change)) < KNOWN_WAY

    def _is_unusual(
        self, point: int, newest: WindowScore, suspicion: float, rerun: Settled | None, sides: Sides
    ) -> bool:
        """Whether the newest point is a suspect, or its runs make it a change."""
        is_step, is_clear = (False, True) if rerun is None else (rerun.is_step, rerun.is_clear)
        is_unusual = suspicion >= SUSPECT
        if point < FEW:
            change = point - 1 if self.state.change is None else self.state.change
            is_back = abs(part_of_step(*sides(change))) < RETURNED
            is_unusual = (is_unusual or self._is_alarm(newest)) and not is_back
        return is_step or (is_clear and is_unusual)

    def _is_followed(self, point: int, score: WindowScore, sides: Sides) -> bool:
        """Whether an alarm with few earlier results may be raised about the place of a score."""
        is_standing = score.window > 0 and score.split == self.state.change
        is_sure = score.is_confirmed or is_standing
        return is_sure or place_of(sides, score.split) <= point - FOLLOWED

    def _best(self, point: int, scores: Sequence[WindowScore], sides: Sides) -> WindowScore | None:
        """Return the best score if it is an alarm.

        If it is about a change that reruns say has just ended, that of the newest point is.
        """
        best = max(scores, key=self._score, default=None)
        if best is None or self._score(best) < self._threshold:
            return None
        if not scores[0].is_confirmed:
            return best
        change, direction = self.state.change, direction_of(*sides(best.split))
        ended = direction if change is None else self.state.direction
        hides_step_back = (
            (change is None or abs(best.split - change) <= SAME)
            and direction * ended >= 0
            and direction_of(*sides(point)) * ended < 0
        )
        return scores[0] if hides_step_back else best

    def _is_alarm(self, score: WindowScore) -> bool:
        return self._score(score) >= self._threshold

    def _score(self, score: WindowScore) -> float:
        least = self._threshold if score.is_confirmed else -math.inf
        if score.window not in self._log_weights:
            return least
        return max(score.surprise + self._log_weights[score.window], least)

    def _withdraw(
        self, point: int, standing: WindowScore, best: WindowScore | None, sides: Sides
    ) -> AlarmStep:
        """Withdraw the standing change, in favour of the best alarm if there is one.

        Args:
            point: The point that arrived.
            standing: The score of the standing change, which is too low.
            best: The best score of this point, if it reaches the threshold.
            sides: As in `advance`.
        """
        if best is None or best.split == standing.split:
            self.state = NOTHING
            return self._step(StepKind.WITHDRAWN, point, standing)
        direction = direction_of(*sides(best.split))
        moves = abs(best.split - standing.split) <= SAME and direction * self.state.direction >= 0
        kind = StepKind.MOVED if moves else StepKind.CALLED
        return self._take(kind, point, best, sides, standing.split)

    def _compare(self, point: int, best: WindowScore, sides: Sides) -> AlarmStep | None:
        """Return the step that a score at or above the threshold leads to, if any."""
        change, direction = self.state.change, direction_of(*sides(best.split))
        if change is None:
            return self._take(StepKind.CALLED, point, best, sides)
        distance = best.split - change
        is_surer = self._score(best) >= self.state.score + SURER
        if direction * self.state.direction < 0 and distance != 0:
            if not self._has_returned(best, distance):
                return None
            return self._take(StepKind.CALLED, point, best, sides)
        first, second = min(change, best.split), max(change, best.split)
        if self._is_beyond(first, second, sides):
            return None  # it is about the earlier step, or about one that too few results follow
        if abs(distance) <= SAME:
            return self._take(StepKind.MOVED, point, best, sides, change) if is_surer else None
        replaces = 0 < distance <= NEAR
        if replaces and not is_surer:
            return None
        return self._take(StepKind.CALLED, point, best, sides, change if replaces else None)

    def _has_returned(self, best: WindowScore, distance: int) -> bool:
        """Whether a step back at this distance from the standing change is a change of its own."""
        if distance > NEAR or best.is_confirmed:
            return distance > 0
        return distance >= SHORTEST_LEVEL and self._score(best) >= self._threshold + CERTAIN

    def _take(
        self,
        kind: StepKind,
        point: int,
        best: WindowScore,
        sides: Sides,
        instead_of: int | None = None,
    ) -> AlarmStep:
        """Make the place of a score the standing change; one that stays there confirms it."""
        place = place_of(sides, best.split)
        if kind is StepKind.MOVED and place == instead_of:
            kind, instead_of = StepKind.CONFIRMED, None
        confirmed = best.window > 0 or (kind is not StepKind.CALLED and self.state.confirmed)
        direction = direction_of(*sides(best.split))
        self.state = AlarmState(place, self._score(best), confirmed, direction, best.probability)
        return self._step(kind, point, best._replace(split=place), instead_of)

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


def direction_of(before: Sequence[float], after: Sequence[float]) -> int:
    """Return 1 if the level rises between two groups of points, -1 if it falls, else 0."""
    if not before:
        return 0
    lower, upper = median(before), median(after)
    return int(upper > lower) - int(upper < lower)  # numbers of NumPy compare to its booleans


def part_of_step(before: Sequence[float], since: Sequence[float]) -> float:
    """Return which part of the step from earlier points to those since the newest one has gone."""
    *after, value = since
    if not before or not after:
        return math.inf
    lower, upper = median(before), median(after)
    return (value - lower) / (upper - lower) if upper != lower else math.inf
