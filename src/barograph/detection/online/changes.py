"""The changes of a series from the steps of the second look: what stands, and since when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from barograph.detection.online.decision import AlarmStep, StepKind


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
    steps: list[AlarmStep] = field(default_factory=list)
    stands: bool = True

    @property
    def is_older(self) -> bool:
        """Whether its alarm came before the steps that are known."""
        return self.steps[0].kind is not StepKind.CALLED


def changes_of(steps: Iterable[AlarmStep]) -> list[StandingChange]:
    """Return every change that the steps are about, in the order of their alarms.

    Example:
        >>> called = AlarmStep(StepKind.CALLED, 40, 40, 0.8)
        >>> moved = AlarmStep(StepKind.MOVED, 41, 43, 0.9, moved_from=40)
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
