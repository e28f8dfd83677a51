"""Which values of a series decisions depend on: what is kept, and both sides of a split."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import TypeVar

from barograph.models import TriageModel
from barograph.results.series import Ints
from barograph.runtime.errors import ConfigError

HISTORY = 500  # values kept by the detector, replay and the store
REGIME_SETS = ("online", "confirm")  # feature sets that find the current level by themselves
# The direction of a step is that of the median of the points from the split on, against the median
# of this many points before it. Up to five points after a step, half of them lie before the step.
BEFORE = 10
T = TypeVar("T", int, Ints)


def first_scored(model: TriageModel) -> int:
    """Return the first point of a series that a model of the newest point can judge."""
    return 5 if model.feature_set in REGIME_SETS else 1


def kept_from(place: T, history: int) -> T:
    """Return the first value that is kept when the point at a place arrives.

    Half of the history is dropped whenever it is full: this costs little per point, and what is
    kept does not depend on how the values were split into batches.
    """
    half = history // 2
    block: T = (place // half - 1) * half
    return block * (block > 0)


def sides_of(values: Sequence[float], split: int) -> tuple[list[float], list[float]]:
    """Return the last values before a split, and all values since."""
    return list(values[max(split - BEFORE, 0) : split]), list(values[split:])


def direction_of(before: Sequence[float], after: Sequence[float]) -> int:
    """Return 1 if the level rises between two groups of points, -1 if it falls, else 0."""
    if not before:
        return 0
    lower, upper = median(before), median(after)
    return int(upper > lower) - int(upper < lower)  # numbers of NumPy compare to its booleans


def part_of_step(before: Sequence[float], after: Sequence[float], value: float) -> float:
    """Return which part of the step between two groups of points a value has gone."""
    if not before or not after:
        return math.inf
    lower, upper = median(before), median(after)
    return (value - lower) / (upper - lower) if upper != lower else math.inf


def check_pair(model: TriageModel, confirm: TriageModel) -> None:
    """Refuse models for a second look whose rows depend on earlier alarms.

    Raises:
        ConfigError: The feature set of a model is not one of REGIME_SETS.
    """
    for feature_set in (model.feature_set, confirm.feature_set):
        if feature_set not in REGIME_SETS:
            raise ConfigError(
                f"the feature set {feature_set!r} depends on earlier alarms: a second look needs "
                f"one of {', '.join(REGIME_SETS)}"
            )
