"""The bounded history of one series, and how a model sees it: as one row of features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Protocol, TypeVar

import numpy as np

from barograph.detection.online.stretch import LASTING, SETTLED, starts_of
from barograph.errors import ConfigError
from barograph.features import FEATURE_SETS, GrowingHistory, feature_matrix
from barograph.features.bauer import FAMILY as BAUER
from barograph.features.families import one_row
from barograph.models import TriageModel
from barograph.series import Floats, Ints

HISTORY = 500  # values kept by the detector, replay and the store
REGIME_SETS = ("online", "confirm")  # feature sets that find the current level by themselves
# The direction of a step is that of the median of the points from the split on, against the median
# of this many points before it. Up to five points after a step, half of them lie before the step.
BEFORE = 10
T = TypeVar("T", int, Ints)


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


class SeriesView(Protocol):
    """The kept values of one series, described by one feature set."""

    @property
    def first(self) -> int:
        """The first point that can be judged."""

    @property
    def by_change_points(self) -> bool:
        """Whether Pre starts at the last change point, so that rows depend on earlier alarms."""

    def reset(self, values: Sequence[float]) -> None:
        """Replace all values."""

    def append(self, value: float) -> None:
        """Add the newest value."""

    def row(self, start: int, split: int, end: int) -> Floats:
        """Describe After = values[split:end] against Pre = values[start:split]."""


class RegimeView:
    """The newest points against the current level, which is found from the values alone."""

    first = 5
    by_change_points = False

    def __init__(self) -> None:
        self._history = GrowingHistory()

    def reset(self, values: Sequence[float]) -> None:
        """Replace all values."""
        self._history = GrowingHistory()
        for value in values:
            self._history.append(value)

    def append(self, value: float) -> None:
        """Add the newest value."""
        self._history.append(value)

    def row(self, start: int, split: int, end: int) -> Floats:  # noqa: ARG002 - one signature
        """Describe the values from the split to the newest one with the columns of `confirm`."""
        return self._history.describe(end - 1 - split)


class PreView:
    """Pre from the last change point, After from the split: Algorithm 1 of Bauer et al. 2022."""

    first = 1
    by_change_points = True

    def __init__(self, feature_set: str) -> None:
        self._feature_set = feature_set
        self._values = np.empty(128)
        self._size = 0

    def reset(self, values: Sequence[float]) -> None:
        """Replace all values."""
        self._size = 0
        for value in values:
            self.append(value)

    def append(self, value: float) -> None:
        """Add the newest value."""
        if self._size == self._values.size:
            self._values = np.concatenate((self._values, np.empty_like(self._values)))
        self._values[self._size] = value
        self._size += 1

    def row(self, start: int, split: int, end: int) -> Floats:
        """Describe the two sides."""
        if self._feature_set == "bauer8":  # for one row the checks of a batch call cost too much
            return one_row(BAUER, self._values[start:split], self._values[split:end])
        bounds = ([0], [split - start], [end - start])
        values = self._values[start:end]
        row: Floats = feature_matrix(values, *bounds, self._feature_set, threads=1)[0]
        return row


def views_for(feature_sets: Iterable[str]) -> dict[str, SeriesView]:
    """Return a view for each feature set; those in REGIME_SETS share one."""
    regime = RegimeView()
    return {name: regime if name in REGIME_SETS else PreView(name) for name in feature_sets}


class HistoryWindow:
    """The last values of one series, addressed by their position in the whole series.

    Args:
        history: Maximum number of values to keep.
        feature_sets: The feature sets that rows are requested for.
    """

    def __init__(self, history: int, feature_sets: Iterable[str]) -> None:
        self.count = 0
        self._base, self._start, self._history = 0, 0, history
        self._values: list[float] = []
        self._views = views_for(feature_sets)
        self._distinct = list({id(view): view for view in self._views.values()}.values())

    def view(self, feature_set: str) -> SeriesView:
        """Return the view of a feature set."""
        return self._views[feature_set]

    def append(self, value: float) -> None:
        """Add the newest value; drop half of the history first if it is full."""
        base = kept_from(self.count, self._history)
        if base != self._base:
            self._values = self._values[base - self._base :]
            self._base = base
            self._restart(base + int(starts_of(np.array(self._values))[-1]))
        else:
            recent = self._values[-SETTLED - LASTING :]
            place = int(starts_of(np.array(recent))[-1])
            if place and place == len(recent) - SETTLED:
                self._restart(self.count - SETTLED)
        self._values.append(value)
        self.count += 1
        for view in self._distinct:
            view.append(value)

    @property
    def base(self) -> int:
        """The position of the oldest kept value."""
        return self._base

    @property
    def kept(self) -> Floats:
        """The kept values."""
        return np.array(self._values)

    def restore(self, count: int, values: Sequence[float]) -> None:
        """Continue after `count` values, of which these are kept."""
        self.count, self._base, self._values = count, count - len(values), list(values)
        self._restart(self._base + int(starts_of(np.array(self._values))[-1]))

    def sides(self, split: int) -> tuple[list[float], list[float]]:
        """Return the last values before a split, and all values since."""
        return sides_of(self._values, split - self._base)

    def way(self, split: int) -> float:
        """Return which part of the step at an earlier split the newest value has gone."""
        before, since = self.sides(split)
        return part_of_step(before, since[:-1], since[-1])

    @property
    def newest(self) -> float:
        """The newest value."""
        return self._values[-1]

    def is_newest_within(self, count: int) -> bool:
        """Return whether the newest value is within the range of the last `count` compared with."""
        last = self._values[self._start - self._base : -1][-count:]
        return bool(last) and min(last) <= self._values[-1] <= max(last)

    def before_newest(self) -> Floats:
        """Return the kept values before the newest one."""
        return np.array(self._values[:-1])

    def replace_newest(self, value: float) -> None:
        """Replace the newest value."""
        self._values[-1] = value
        self._restart(self._start)

    def row(self, feature_set: str, start: int, split: int, end: int) -> Floats:
        """Describe values[split:end]; Pre begins at the first kept value if `start` is dropped."""
        view = self._views[feature_set]
        base = self._first_of(view)
        row = view.row(max(start - base, 0), split - base, end - base)
        return row[: len(FEATURE_SETS[feature_set])]

    def _restart(self, start: int) -> None:
        """Show the values from `start` to the views, or all if they depend on change points."""
        self._start = start
        for view in self._distinct:
            view.reset(self._values[self._first_of(view) - self._base :])

    def _first_of(self, view: SeriesView) -> int:
        """Return the position of the first value that a view has."""
        return self._base if view.by_change_points else self._start
