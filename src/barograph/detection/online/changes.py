"""The changes of a series from the steps of the second look: what stands, and since when.

Places are positions or orders, as the steps have them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from barograph.detection.online.decision import StepKind


@dataclass(frozen=True, slots=True)
class ScoredStep:
    """A step of the second look, with the score that the change has after it.

    Attributes:
        kind: What happened.
        index: The change point.
        at: The newest point when it happened.
        probability: The probability of the change at that time.
        moved_from: Its former place, or the change point that a `called` one replaces.
        score: The score in nats; see `Budget`.
    """

    kind: StepKind
    index: int
    at: int
    probability: float
    moved_from: int | None
    score: float


@dataclass(slots=True)
class StandingChange:
    """A change and what happened to it.

    Attributes:
        index: Where it begins.
        probability: The probability of the change at its last step.
        steps: Its steps, in order; the first one is its alarm unless that came before the steps
            that are known.
        stands: Whether it was neither withdrawn nor replaced.
    """

    index: int
    probability: float
    steps: list[ScoredStep] = field(default_factory=list)
    stands: bool = True

    @property
    def is_older(self) -> bool:
        """Whether its alarm came before the steps that are known."""
        return self.steps[0].kind is not StepKind.CALLED


def changes_of(steps: Iterable[ScoredStep]) -> list[StandingChange]:
    """Return every change that the steps are about, in the order of their alarms.

    Example:
        >>> called = ScoredStep(StepKind.CALLED, 40, 40, 0.8, None, 6.0)
        >>> moved = ScoredStep(StepKind.MOVED, 41, 43, 0.9, 40, 8.0)
        >>> [(change.index, len(change.steps)) for change in changes_of([called, moved])]
        [(41, 2)]
    """
    changes: list[StandingChange] = []
    standing: dict[int, StandingChange] = {}  # by place
    for step in steps:
        before = step.index if step.moved_from is None else step.moved_from
        change = standing.pop(before, None)
        if step.kind is StepKind.CALLED and change is not None:
            change.stands, change = False, None
        if change is None:
            change = StandingChange(step.index, step.probability)
            changes.append(change)
        change.index, change.probability = step.index, step.probability
        change.steps.append(step)
        if step.kind is StepKind.WITHDRAWN:
            change.stands = False
        else:
            standing[step.index] = change
    return changes
