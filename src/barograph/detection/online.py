"""The online detector: a verdict on the newest commit alone (Bauer et al. 2022, Algorithm 1)."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from barograph.errors import DataError
from barograph.features import feature_matrix
from barograph.series import Floats, Ints

AHEAD = 32  # points judged per batch before a found change point makes the rest void


class Scorer(Protocol):
    """What the detector needs of a model; `models.TriageModel` is one."""

    @property
    def feature_set(self) -> str:
        """The columns that it was trained on."""

    @property
    def threshold(self) -> float:
        """The probability from which a point is called a change."""

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the probability of noise and of a real change for each row."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the detector says of one point."""

    index: int
    probability: float
    is_change: bool


class OnlineDetector:
    """Judge each point of one series as it lands; no later point is ever needed.

    Pre runs from the last change point found to just before the newest point, After is the newest
    point alone. The first point of a series has no Pre and is never a change.
    """

    def __init__(self, model: Scorer) -> None:
        self._model = model
        self._values: list[float] = []
        self._change_points: list[int] = []

    @property
    def change_points(self) -> list[int]:
        """The indices found so far."""
        return list(self._change_points)

    def update(self, value: float) -> Decision:
        """Take the newest value and say whether a new regime begins with it."""
        if not np.isfinite(value):
            raise DataError(f"the value at index {len(self._values)} is {value}: must be finite")
        self._values.append(float(value))
        index = len(self._values) - 1
        if index == 0:
            return Decision(0, 0.0, is_change=False)
        start = self._change_points[-1] if self._change_points else 0
        [probability] = newest_point(self._model, np.array(self._values), start, index, index + 1)
        is_change = bool(probability >= self._model.threshold)
        if is_change:
            self._change_points.append(index)
        return Decision(index, float(probability), is_change)


def newest_point(model: Scorer, values: Floats, start: int, first: int, last: int) -> Floats:
    """Return the probability of each point from `first` to before `last` as if it were the newest.

    Pre starts at `start` for all of them.
    """
    splits = np.arange(first, last)
    return newest_points(model, values, np.full(splits.size, start), splits)


def newest_points(model: Scorer, values: Floats, starts: Ints, splits: Ints) -> Floats:
    """Return the probability of many points, each as if it were the newest of its series.

    Pre of the point at `splits[k]` runs from `starts[k]`; the series stand one behind the other.
    """
    rows = feature_matrix(values, starts, splits, splits + 1, model.feature_set)
    return model.predict_proba(rows)[:, 1]


def replay(model: Scorer, values: Floats) -> tuple[Floats, Ints]:
    """Run the detector over a whole history; the same answers as one `update` a point.

    Returns:
        The probability at each point (0 for the first) and the indices found. Points are judged
        some ahead in one call; those behind a change point are judged again with their own Pre.
    """
    probability = np.zeros(values.size)
    found: list[int] = []
    start, at = 0, 1
    while at < values.size:
        last = min(values.size, at + AHEAD)
        probability[at:last] = newest_point(model, values, start, at, last)
        hits: npt.NDArray[np.int64] = np.flatnonzero(probability[at:last] >= model.threshold)
        if hits.size:
            start = at + int(hits[0])
            found.append(start)
            at = start + 1
        else:
            at = last
    return probability, np.array(found, dtype=np.int64)
