"""What the detector says of a point, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from barograph.detection.online.scorer import Scorer
from barograph.features import FEATURE_SETS
from barograph.series import Floats


class Kind(StrEnum):
    """What happened to a change point."""

    CALLED = "called"
    CONFIRMED = "confirmed"
    MOVED = "moved"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened to a change point as points arrived.

    Attributes:
        kind: what happened.
        index: the change point; after `moved`, where it is now.
        at: the newest point when it happened.
        probability: what the model said then.
        moved_from: where it was before it was moved.
    """

    kind: Kind
    index: int
    at: int
    probability: float
    moved_from: int | None = None


class Reason(NamedTuple):
    """A feature, its value, and what it added to the probability (None where nobody knows)."""

    name: str
    value: float
    part: float | None


@runtime_checkable
class Explains(Protocol):
    """A model that can take its probability apart."""

    def reasons(self, matrix: Floats) -> tuple[float, Floats]:
        """Return a base, and what each feature adds to it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the detector says as one value lands.

    Attributes:
        index: the first point of the new regime, if there is one: the newest, or one of the last.
        at: the newest point.
        probability: what the model says of `index`.
        is_change: whether an alarm is raised now.
        steps: what else became certain now, in order.
    """

    index: int
    at: int
    probability: float
    is_change: bool
    steps: tuple[Step, ...] = ()
    explain: Callable[[], list[Reason]] = field(default=list, repr=False, compare=False)

    @property
    def reasons(self) -> list[Reason]:
        """The features, the most decisive first; computed when read."""
        return self.explain()


def reasons(model: Scorer, row: Floats) -> list[Reason]:
    """Take a model's answer apart; without parts the features stand in their own order."""
    names = FEATURE_SETS[model.feature_set]
    values = row.tolist()
    if not isinstance(model, Explains):
        return [Reason(name, value, None) for name, value in zip(names, values, strict=True)]
    parts = np.asarray(model.reasons(row[None, :])[1])[0, : len(names)]
    order = np.argsort(-np.abs(parts), kind="stable").tolist()
    return [Reason(names[k], values[k], float(parts[k])) for k in order]
