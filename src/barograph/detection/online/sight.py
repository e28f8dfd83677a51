"""What a model sees of a series: a row of its features for one of the newest points."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from barograph.features import GrowingHistory, feature_matrix
from barograph.features.bauer import FAMILY as BAUER
from barograph.features.families import one_row
from barograph.series import Floats

OF_THE_REGIME = ("online", "confirm")


class Sight(Protocol):
    """The values that are kept, and how they are described."""

    @property
    def first(self) -> int:
        """The first point that can be judged."""

    @property
    def by_change_points(self) -> bool:
        """Whether Pre starts at the last change point, so that one withdrawn changes others."""

    def reset(self, values: Sequence[float]) -> None:
        """Start over with these values."""

    def append(self, value: float) -> None:
        """Take the newest value."""

    def row(self, start: int, split: int, end: int) -> Floats:
        """Describe After = values[split:end] against Pre, or against all before the split."""


class RegimeSight:
    """The newest points against the current regime, whatever was called before."""

    first = 5
    by_change_points = False

    def __init__(self) -> None:
        self._history = GrowingHistory()

    def reset(self, values: Sequence[float]) -> None:
        """Start over with these values."""
        self._history = GrowingHistory()
        for value in values:
            self._history.append(value)

    def append(self, value: float) -> None:
        """Take the newest value."""
        self._history.append(value)

    def row(self, start: int, split: int, end: int) -> Floats:  # noqa: ARG002 - one signature
        """Describe the values from the split to the newest one, by all columns of `confirm`."""
        return self._history.describe(end - 1 - split)


class PreSight:
    """Pre from the last change point, After from the split: Algorithm 1 of Bauer et al. 2022."""

    first = 1
    by_change_points = True

    def __init__(self, feature_set: str) -> None:
        self._feature_set = feature_set
        self._values = np.empty(128)
        self._size = 0

    def reset(self, values: Sequence[float]) -> None:
        """Start over with these values."""
        self._size = 0
        for value in values:
            self.append(value)

    def append(self, value: float) -> None:
        """Take the newest value."""
        if self._size == self._values.size:
            self._values = np.concatenate((self._values, np.empty_like(self._values)))
        self._values[self._size] = value
        self._size += 1

    def row(self, start: int, split: int, end: int) -> Floats:
        """Describe the two sides."""
        if self._feature_set == "bauer8":  # one family: the batch call's checks cost more than it
            return one_row(BAUER, self._values[start:split], self._values[split:end])
        bounds = ([0], [split - start], [end - start])
        values = self._values[start:end]
        row: Floats = feature_matrix(values, *bounds, self._feature_set, threads=1)[0]
        return row


def sights_for(feature_sets: Iterable[str]) -> dict[str, Sight]:
    """Return what models of these feature sets look through; those of the regime share one."""
    regime = RegimeSight()
    return {name: regime if name in OF_THE_REGIME else PreSight(name) for name in feature_sets}
