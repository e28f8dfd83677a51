"""What the picture of a series shows, in numbers and words; nothing here draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np

from barograph.results.series import UNKNOWN_TIME, ChangePoint, Direction, Floats, Ints
from barograph.results.sizes import LevelLine, level_lines
from barograph.results.wording import number, plural, typeset
from barograph.runtime.errors import DataError

# Where some results lie farther out than FAR times half the range of the others and of the levels,
# they are drawn at the edge.
FAR, REST = 2.0, 0.02
LARGEST = 1e307  # differences and sums of larger results can be infinite


@dataclass(frozen=True)
class Panel:
    """A series as it is drawn."""

    values: Floats
    change_points: Sequence[ChangePoint]
    title: str = ""
    direction: Direction = Direction.UNKNOWN
    commits: Sequence[str] = ()
    times: Ints | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        """Refuse change points that are not places between results, in order."""
        size, last = self.values.size, 0
        for k, point in enumerate(self.change_points):
            if not isinstance(point, ChangePoint):
                raise DataError(
                    f"change_points[{k}] is {point!r:.40}; it must be a ChangePoint, as "
                    "`detect` returns them"
                )
            if not 0 < point.index < size:
                raise DataError(
                    f"change point at {point.index}: values has {size} results, so it must "
                    f"be from 1 to {size - 1}"
                )
            if point.index <= last:
                places = [other.index for other in self.change_points]
                raise DataError(f"change points must be in order, without repeats, not {places}")
            last = point.index
        finite = self.values[np.isfinite(self.values)]
        if not finite.size:
            raise DataError("values has no finite result to draw")
        if (largest := np.abs(finite).max()) > LARGEST:
            raise DataError(f"values has a result of size {largest:g}; the largest is {LARGEST:g}")

    @cached_property
    def levels(self) -> list[LevelLine]:
        """The levels: those that the changes were measured with, and the rest of each segment."""
        sides = [(point.index, point.before, point.after) for point in self.change_points]
        return level_lines(self.values, sides)

    @cached_property
    def limits(self) -> tuple[float, float]:
        """The range of values that is drawn: all, or all but a few that lie far out."""
        ordered = np.sort(self.values[np.isfinite(self.values)])
        rest = max(1, math.ceil(REST / 2 * ordered.size))
        inner = ordered[rest:-rest] if ordered.size > 4 * rest else ordered
        levels = [line.level for line in self.levels]
        low, high = float(min([inner[0], *levels])), float(max([inner[-1], *levels]))
        reach = 0.5 * FAR * (high - low)
        low = float(ordered[0]) if ordered[0] >= low - reach else low
        high = float(ordered[-1]) if ordered[-1] <= high + reach else high
        margin = 0.12 * (high - low) or 0.01 * abs(high) or 1.0
        return low - margin, high + margin

    @property
    def beyond(self) -> Floats:
        """-1 for results below the limits, 1 for those above, 0 for all others."""
        low, high = self.limits
        return np.where(self.values > high, 1.0, np.where(self.values < low, -1.0, 0.0))

    @property
    def subtitle(self) -> str:
        """How many results and changes there are, and what the picture does not show."""
        count = len(self.change_points)
        parts = [plural(self.values.size, "result"), plural(count, "change")]
        if not count:
            parts[1] = "no changes"
        if self.direction:
            parts.append(self.direction.name.lower().replace("_", " "))
        far = self.values[self.beyond != 0]
        if far.size:
            texts = dict.fromkeys([number(far.min()), number(far.max())][: far.size])
            parts.append(f"{far.size:,} outside the scale: {typeset(' to '.join(texts))}")
        return " · ".join(parts)

    def place(self, index: int) -> str:
        """Name a result by its commit, else by its index."""
        commit = self.commits[index] if len(self.commits) else ""
        return commit[:8] or f"at {index}"

    def day(self, index: float, _position: object = None) -> str:
        """Name a tick of the horizontal axis: the day of the result if known, else its index."""
        number = round(index)
        if number != index:  # a tick between results
            return ""
        if self.times is None or not 0 <= number < self.values.size:
            return f"{number:,}"
        time = int(self.times[number])
        if time == UNKNOWN_TIME:
            return f"{number:,}" if np.all(self.times == UNKNOWN_TIME) else ""
        return f"{datetime.fromtimestamp(time / 1000, UTC):%-d %b %Y}"
