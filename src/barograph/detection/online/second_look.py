"""The second look: an alarm is confirmed, moved or withdrawn as more points arrive."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from barograph.detection.online.budget import Budget
from barograph.detection.online.decision import Kind, Step

# Windows by which a standing alarm is judged again.
LOOKS = (1, 2, 3, 5, 7, 10)
# An alarm so soon after another speaks of the same event, unless it is this much surer, in nats.
REPEAT = 5
SURER = 1.0
# A change point is withdrawn where, with two points or more behind it, so many quiet points
# (as a surprise in nats) look as real as it does.
COLLAPSED = 3.0
ENOUGH = 2


@dataclass(frozen=True, slots=True)
class Look:
    """One point as seen with a window behind it."""

    window: int
    split: int
    probability: float
    surprise: float


class Standing(NamedTuple):
    """All that a second look has to know of what came before.

    Attributes:
        change: the change point that stands and may still fall, None where it fell.
        at: the point at which the last alarm was raised.
        score: of that alarm.
        confirmed: whether a later window has confirmed the change point.
    """

    change: int | None
    at: int
    score: float
    confirmed: bool


class Gate:
    """Lets an alarm through if it is new: not soon after another, or surer than that one."""

    def __init__(self, at: int = -REPEAT - 1, score: float = 0.0) -> None:
        self.at, self.score = at, score

    def passes(self, at: int, score: float) -> bool:
        """Ask for one alarm; those that pass are remembered."""
        if at - self.at <= REPEAT and score < self.score + SURER:
            return False
        self.at, self.score = at, score
        return True


def alarms(candidates: Iterator[tuple[int, float]]) -> Iterator[int]:
    """Yield the points of those alarms, given by point and score, that the gate lets through."""
    gate = Gate()
    return (at for at, score in candidates if gate.passes(at, score))


class SecondLook:
    """Follows the alarms of one series; asks for looks, and tells what they change.

    Args:
        budget: whose alarms count how much.
        standing: what `standing_at` told when the points before were seen.
    """

    def __init__(self, budget: Budget, standing: Standing | None = None) -> None:
        self._budget = budget
        self._gate = Gate() if standing is None else Gate(standing.at, standing.score)
        before = standing or Standing(None, 0, 0.0, confirmed=False)
        self._index = before.change  # the change point that stands and may still fall
        self._at = before.at
        self._confirmed = before.confirmed

    @property
    def standing(self) -> Standing:
        """All that there is to know for the points that follow."""
        return Standing(self._index, self._gate.at, self._gate.score, self._confirmed)

    def standing_at(self, at: int) -> Standing | None:
        """Return what point `at` and later ones have to know; None where nothing matters now."""
        quiet = at - self._gate.at > REPEAT and not self.is_watching(at)
        return None if quiet else self.standing

    def wanted(self, at: int, first: int) -> list[tuple[int, int]]:
        """Return the windows and splits to look at as point `at` lands."""
        asked = [(w, at - w) for w in self._budget.weights if at - w >= first]
        own = None if self._index is None else (at - self._index, self._index)
        if own is not None and own[0] in LOOKS and own not in asked:
            asked.append(own)
        return asked

    def is_watching(self, at: int) -> bool:
        """Whether a change point stands that may still be confirmed or withdrawn."""
        return self._index is not None and at - self._index <= LOOKS[-1]

    def see(self, at: int, looks: Sequence[Look]) -> tuple[Look | None, list[Step]]:
        """Take the looks that were asked for; return the alarm raised now, and what happened."""
        best = max(looks, key=self._score, default=None)
        alarm = best if best is not None and self._score(best) >= self._budget.threshold else None
        own = next((k for k in looks if k.split == self._index and k.window > 0), None)
        if alarm is not None and self._gate.passes(at, self._score(alarm)):
            return alarm, [self._raise(at, alarm)]
        if own is None:
            return None, []
        return None, self._judge(at, own, alarm)

    def _score(self, look: Look) -> float:
        if look.window not in self._budget.weights:
            return -math.inf
        return self._budget.score(look.window, look.surprise)

    def _raise(self, at: int, alarm: Look) -> Step:
        """Say what an alarm that is raised means for the one that stands."""
        before, near = self._index, at - self._at <= REPEAT
        self._index, self._at = alarm.split, at
        if before is None or not near:
            self._confirmed = alarm.window > 0
            return Step(Kind.CALLED, alarm.split, at, alarm.probability)
        self._confirmed |= alarm.window > 0
        if before == alarm.split:
            return Step(Kind.CONFIRMED, alarm.split, at, alarm.probability)
        return Step(Kind.MOVED, alarm.split, at, alarm.probability, moved_from=before)

    def _judge(self, at: int, own: Look, other: Look | None) -> list[Step]:
        """Look again at the change point that stands."""
        if own.window >= ENOUGH and own.surprise < COLLAPSED:
            if other is not None and other.split != own.split:
                self._index = other.split
                return [Step(Kind.MOVED, other.split, at, other.probability, moved_from=own.split)]
            self._index = None
            return [Step(Kind.WITHDRAWN, own.split, at, own.probability)]
        if not self._confirmed and own.surprise >= self._budget.threshold:
            self._confirmed = True
            return [Step(Kind.CONFIRMED, own.split, at, own.probability)]
        return []
