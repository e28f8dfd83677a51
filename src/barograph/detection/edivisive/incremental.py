"""E-Divisive over a growing series: only the part that a new result can change is divided."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from barograph.detection.base import Observations, RawChangePoint, describe, observe, require
from barograph.detection.edivisive.detector import EDivisive
from barograph.series import ChangePoint, Floats


@dataclass(frozen=True, slots=True)
class Update:
    """The effect of new results on the change points.

    Attributes:
        appeared: Indices of new change points.
        vanished: Indices of change points that no longer exist.
        moved: Old and new index of change points that moved.
        examined: Number of the newest points that were divided again.
    """

    appeared: tuple[int, ...]
    vanished: tuple[int, ...]
    moved: tuple[tuple[int, int], ...]
    examined: int

    @property
    def is_change(self) -> bool:
        """Whether any change point changed."""
        return bool(self.appeared or self.vanished or self.moved)


@dataclass
class IncrementalEDivisive:
    """E-Divisive with a state: known change points are kept, the newest may move.

    A new result lengthens the last level. That can move or remove the last change point, or add
    others after it. So the two levels around it are divided again, and everything before them is
    kept. If these levels are longer than `recent` points, the division starts at the nearest known
    change point before the last `recent` points (Daly et al. 2020, 3).

    Indices count the results as given, including those that `detector.missing` leaves out.

    Args:
        detector: Parameters of the division; its own `recent` is not used.
        recent: Number of the newest points to examine, extended back to a known change point.
        reach: Largest distance at which a vanished and a new change point count as one that moved.

    Example:
        >>> detector = IncrementalEDivisive()
        >>> detector.update([10.0, 10.1, 9.9] * 20).appeared
        ()
        >>> detector.update([12.0, 12.1, 11.9] * 20).appeared
        (60,)
    """

    detector: EDivisive = field(default_factory=EDivisive)
    recent: int = 500
    reach: int = 10
    _results: Floats = field(default_factory=lambda: np.empty(0), init=False, repr=False)
    _series: Observations = field(init=False, repr=False)
    _known: list[RawChangePoint] = field(default_factory=list, init=False, repr=False)
    _discovered: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        least = self.detector.shortest
        require(self.recent >= least, "recent", self.recent, f"{least} or more")
        require(self.reach >= 0, "reach", self.reach, "0 or more")
        self._take(self._results)

    @property
    def change_points(self) -> list[ChangePoint]:
        """The current change points, with the regions around them."""
        return describe(self._series, self._known)

    def remember(self, values: npt.ArrayLike, change_points: Sequence[ChangePoint]) -> None:
        """Start from a history and its known change points."""
        self._take(np.asarray(values))
        positions = self._series.positions
        indices = [point.index for point in change_points]
        inside = all(index in positions[1:] for index in indices)
        ascending = indices == sorted(set(indices))
        require(inside and ascending, "change_points", indices, "ascending, inside the history")
        places = np.searchsorted(positions, indices).tolist()
        self._known = [
            RawChangePoint(place, p.statistic, p.pvalue, p.order, q=p.q)
            for place, p in zip(places, change_points, strict=True)
        ]
        self._discovered = len(indices)

    def update(self, values: npt.ArrayLike) -> Update:
        """Add new results (one number, or several in order), and return what they change."""
        self._take(np.concatenate([self._results, np.atleast_1d(values)]))
        start = self._first_to_examine()
        settled = [point for point in self._known if point.index <= start]
        before = [point for point in self._known if point.index > start]
        after = self.detector.divide(self._series.values, start)
        change = compare(
            self._places(before), self._places(after), self.reach, self._series.values.size - start
        )
        self._known = settled + self._numbered(before, after, change)
        return change

    def _take(self, values: npt.NDArray[np.generic]) -> None:
        """Check all results; invalid ones change nothing."""
        self._series = observe(values, missing=self.detector.missing)
        self._results = values.astype(np.float64)

    def _places(self, points: Sequence[RawChangePoint]) -> list[int]:
        """Return the indices of points in the results as given."""
        return [int(self._series.positions[point.index]) for point in points]

    def _first_to_examine(self) -> int:
        """Return the start of the stretch that a new result can change."""
        size = self._series.values.size
        start = self._known[-2].index if len(self._known) > 1 else 0
        if size - start <= self.recent:
            return start
        earlier = [p.index for p in self._known if start < p.index <= size - self.recent]
        return max(earlier, default=start or size - self.recent)

    def _numbered(
        self, before: list[RawChangePoint], after: list[RawChangePoint], change: Update
    ) -> list[RawChangePoint]:
        """Number new points after all others; one that is kept or moves keeps its number."""
        orders = dict(zip(self._places(before), (point.order for point in before), strict=True))
        orders |= {new: orders[old] for old, new in change.moved}
        places = dict(zip((point.index for point in after), self._places(after), strict=True))
        for point in sorted(after, key=lambda point: point.order or 0):
            if places[point.index] in change.appeared:
                orders[places[point.index]] = self._discovered
                self._discovered += 1
        return [replace(point, order=orders[places[point.index]]) for point in after]


def compare(before: list[int], after: list[int], reach: int, examined: int) -> Update:
    """Return which change points appeared, vanished or moved; the nearest are paired first."""
    vanished, appeared = set(before) - set(after), set(after) - set(before)
    near = sorted((abs(a - b), a, b) for a in vanished for b in appeared if abs(a - b) <= reach)
    moved = []
    for _, a, b in near:
        if a in vanished and b in appeared:
            moved.append((a, b))
            vanished.remove(a)
            appeared.remove(b)
    return Update(tuple(sorted(appeared)), tuple(sorted(vanished)), tuple(sorted(moved)), examined)
