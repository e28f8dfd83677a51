"""The data of charts as JSON: thinned, rounded, and with each commit stored once."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from barograph.report.changes import ReportedChange
from barograph.report.panel import Panel
from barograph.results.series import UNKNOWN_TIME, Floats, Ints, Series
from barograph.results.wording import (
    TREND,
    change_text,
    printable,
    probability_text,
    short_commit,
    typeset,
    unit_text,
)

MOST, FEWEST = 600, 200  # drawn results of a series: about one for each pixel column
ROOM = 350_000  # drawn results of all series, which take about 6 MB
DIGITS = 6

# The number, the name and the time of a commit, by its project and its name or order.
Commits = dict[tuple[str, str | int], tuple[int, str, int | None]]


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
    panel = Panel(series.values, [change.point for change in changes])
    indices = thinned(series.values, [change.point.index for change in changes], most)
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
        "changes": [_mark(change) for change in changes],
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
    return [
        change.point.index,
        typeset(text),
        change.effect,
        None if probability is None else round(probability, 3),
    ]


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
