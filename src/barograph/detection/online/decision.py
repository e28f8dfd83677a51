"""Decisions of the online detector: what it reports as each value arrives, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from barograph.detection.online.newest import Departure
from barograph.features import feature_matrix
from barograph.models import TriageModel
from barograph.results.series import Floats


class StepKind(StrEnum):
    """What happened to a change point."""

    CALLED = "called"
    CONFIRMED = "confirmed"
    MOVED = "moved"
    WITHDRAWN = "withdrawn"


class Answer(StrEnum):
    """What the detector says about the newest point.

    A suspect departs from what is usual, and only a rerun of its commit can tell a change from a
    spike.
    """

    QUIET = "quiet"
    SUSPECT = "suspect"
    CHANGE = "change"


ANSWERS = tuple(Answer)  # arrays of answers hold positions in it


@dataclass(frozen=True, slots=True)
class AlarmStep:
    """One event in the life of a change point.

    Places are positions in the series; the store has the orders of commits instead.

    Attributes:
        kind: What happened.
        index: The change point; after `moved`, its new place.
        newest: The newest point when it happened.
        probability: The probability of the change at that time.
        moved_from: The former place of a change point that was moved, or the change point that a
            `called` one replaces.
        score: The score of the change since then, in nats (see `Budget`); infinite if unknown.
    """

    kind: StepKind
    index: int
    newest: int
    probability: float
    moved_from: int | None = None
    score: float = field(default=math.inf, compare=False, repr=False)


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


class Reason(NamedTuple):
    """A feature, its value, and its contribution to the probability."""

    name: str
    value: float
    part: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What the detector reports as one value arrives.

    Attributes:
        index: The point that the decision is about: where a change begins if an alarm is raised
            now, `known_since` if a change is known, else the newest point.
        newest: The newest point.
        probability: The probability of a change at `index`; for a known change, at its last step.
        answer: `change` if an alarm is raised now, `suspect` if a rerun of the newest commit is
            needed to tell.
        known_since: A change point up to fifteen points back whose alarm was raised before.
        departure: How far the newest result departs from what is usual; `str()` explains it. None
            if it does not depart, or without a second look.
        reruns: How many further runs of the newest commit are advised.
        steps: What happened to change points as the value arrived, in order.
    """

    index: int
    newest: int
    probability: float
    answer: Answer = Answer.QUIET
    known_since: int | None = None
    departure: Departure | None = None
    reruns: int = 0
    steps: tuple[AlarmStep, ...] = ()

    @property
    def is_change(self) -> bool:
        """Whether an alarm is raised now."""
        return self.answer is Answer.CHANGE

    @property
    def surprise(self) -> float:
        """The score of the departure in nats; 0 if the newest result does not depart."""
        return 0.0 if self.departure is None else self.departure.surprise


def reasons_for_newest(model: TriageModel, values: Floats) -> list[Reason]:
    """Return the contribution of each feature to the probability, the largest first.

    Args:
        model: The model.
        values: What the newest value is compared with, and that value.
    """
    bounds = [0], [values.size - 1], [values.size]
    rows = feature_matrix(values, *bounds, model.feature_set, threads=1)
    # What the calibration adds comes after the columns and is left out.
    parts = model.reasons(rows)[1][0, : len(model.columns)]
    order = np.argsort(-np.abs(parts), kind="stable").tolist()
    return [Reason(model.columns[k], float(rows[0, k]), float(parts[k])) for k in order]
