"""The values that a detector keeps: bounded, and counted from the first that ever landed."""

from collections.abc import Iterable
from typing import TypeVar

from barograph.detection.online.sight import sights_for
from barograph.features import FEATURE_SETS
from barograph.series import Floats, Ints

HISTORY = 500  # values; the detector, replay and the store keep as many
T = TypeVar("T", int, Ints)


def kept_from(at: T, history: int) -> T:
    """Return the first value that is kept as point `at` lands.

    Half of the history is dropped whenever it is full, so that this costs next to nothing a
    point, and what is known of a point does not depend on how the values came.
    """
    half = history // 2
    block: T = (at // half - 1) * half
    return block * (block > 0)


class Recent:
    """The last values of one series, and the sights of the models that look at them."""

    def __init__(self, history: int, feature_sets: Iterable[str]) -> None:
        self.count = 0
        self._base, self._history = 0, history
        self._values: list[float] = []
        self._sights = sights_for(feature_sets)
        self._distinct = list({id(sight): sight for sight in self._sights.values()}.values())

    def first(self, feature_set: str) -> int:
        """The first point that can be judged."""
        return self._sights[feature_set].first

    def by_change_points(self, feature_set: str) -> bool:
        """Whether Pre starts at the last change point."""
        return self._sights[feature_set].by_change_points

    def append(self, value: float) -> None:
        """Take the newest value; make room first where the history is full."""
        base = kept_from(self.count, self._history)
        if base != self._base:
            self._values = self._values[base - self._base :]
            self._base = base
            for sight in self._distinct:
                sight.reset(self._values)
        self._values.append(value)
        self.count += 1
        for sight in self._distinct:
            sight.append(value)

    def row(self, feature_set: str, start: int, split: int, end: int) -> Floats:
        """Describe values[split:end]; what lies before the kept values is left out of Pre."""
        base = self._base
        row = self._sights[feature_set].row(max(start - base, 0), split - base, end - base)
        return row[: len(FEATURE_SETS[feature_set])]
