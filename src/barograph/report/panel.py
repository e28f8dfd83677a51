"""What the charts of series show, in numbers and words; nothing here draws.

A `Panel` is the picture of one series. The charts of a report have their data as JSON: thinned,
rounded, and with each commit stored once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from barograph.report.changes import SLOW, ReportedChange
from barograph.results.series import UNKNOWN_TIME, ChangePoint, Direction, Floats, Ints, Series
from barograph.results.sizes import LevelLine, level_lines
from barograph.results.wording import (
    TREND,
    change_text,
    number,
    plural,
    printable,
    probability_text,
    short_commit,
    typeset,
    unit_text,
)
from barograph.runtime.errors import DataError

if TYPE_CHECKING:
    from barograph.detection.slow import SlowChange

# Where some results lie farther out than FAR times half the range of the others and of the levels,
# they are drawn at the edge.
FAR, REST = 2.0, 0.02
LARGEST = 1e307  # differences and sums of larger results can be infinite
MOST, FEWEST = 600, 200  # drawn results of a series: about one for each pixel column
ROOM = 350_000  # drawn results of all series, which take about 6 MB
DIGITS = 6

# The number, the name and the time of a commit, by its project and its name or order.
Commits = dict[tuple[str, str | int], tuple[int, str, int | None]]


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
    slow: Sequence[SlowChange] = ()

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
        for kind, name in SLOW.items():
            if found := sum(slow.kind == kind for slow in self.slow):
                parts.append(plural(found, name))
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


def chart_data(charts: Sequence[tuple[Series, Sequence[ReportedChange]]]) -> str:
    """Return series and their changes as JSON that may stand in a script element of a page.

    Args:
        charts: The series, each with its changes, for `drawSeries` of static/chart.js. They share
            their commits; of many series, fewer results are drawn.
    """
    most = min(MOST, max(FEWEST, ROOM // max(len(charts), 1)))
    commits: Commits = {}
    series = [_packed(*chart, most, commits) for chart in charts]
    names, times = ([entry[k] for entry in commits.values()] for k in (1, 2))
    content = {"names": names, "times": times, "series": series}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A name may hold the end of the script element, or a separator that ends a line.
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _packed(
    series: Series, changes: Sequence[ReportedChange], most: int, commits: Commits
) -> dict[str, Any]:
    """Return a series as plain values, and add its commits to the known ones."""
    steps = [change for change in changes if change.slow is None]
    panel = Panel(series.values, [change.point for change in steps])
    indices = thinned(series.values, [change.point.index for change in steps], most)
    low, high = panel.limits
    # Steps of a thousandth of the vertical axis or less.
    shown = np.round(series.values[indices], math.floor(4.0 - math.log10(high - low)))
    names = []
    for k in indices.tolist():
        order, commit = int(series.orders[k]), series.commits[k] if len(series.commits) else ""
        time = UNKNOWN_TIME if series.times is None else int(series.times[k])
        name = printable(short_commit(commit)) or f"order {order}"
        entry = len(commits), name, None if time == UNKNOWN_TIME else time // 1000
        names.append(commits.setdefault((series.id.project, commit or order), entry)[0])
    return {
        "count": len(series),
        "unit": unit_text(series.unit),
        "limits": [_rounded(low), _rounded(high)],
        "values": [value if math.isfinite(value) else None for value in shown.tolist()],
        "index": indices.tolist() if indices.size < len(series) else None,
        "names": names,
        "levels": [[a, b, _rounded(level), used] for a, b, level, used in panel.levels],
        "changes": [_mark(change) for change in steps],
        "slow": [
            [slow.kind, slow.begin, slow.end, _rounded(slow.before), _rounded(slow.after)]
            for slow in (change.slow for change in changes)
            if slow is not None
        ],
    }


def thinned(values: Floats, change_points: Sequence[int], limit: int = MOST) -> Ints:
    """Return the indices of the results to draw: all, or the extremes of equal stretches.

    The first and the last result and those on both sides of a change are always kept.

    Args:
        values: The results.
        change_points: The indices at which levels begin.
        limit: About the largest number of results to draw.

    Example:
        >>> thinned(np.array([1.0, 3.0, 2.0, 2.0, 9.0, 2.0, 2.0, 2.0]), [], limit=4).tolist()
        [0, 1, 4, 5, 7]
    """
    size = values.size
    if size <= limit:
        return np.arange(size)
    edges = np.linspace(0, size, max(limit // 2, 1) + 1).astype(np.int64)
    indices = {0, size - 1}
    for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        part = values[start:end]
        indices |= {start + int(np.argmin(part)), start + int(np.argmax(part))}
    for place in change_points:
        indices |= {place - 1, place}
    return np.array(sorted(indices), dtype=np.int64)


def _mark(change: ReportedChange) -> list[Any]:
    probability = change.point.probability
    text = change_text(change.size.percent) + f" {TREND}" * change.size.is_trend
    if probability is not None:
        text = f"{text}, {probability_text(probability)} real"
    text += ", new" * change.point.is_new
    return [
        change.point.index,
        typeset(text),
        change.effect,
        None if probability is None else round(probability, 3),
    ]


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
