"""Small plots as SVG paths: no script draws them, so they are there with the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from barograph.triage.traces import Trace

WIDTH, HEIGHT = 240, 60
MARGIN = 4  # above and below
TAIL = 0.02  # of the results on each side that may lie beyond the plot


class Sparkline(NamedTuple):
    """The paths of a small plot in a box of 240 by 60.

    Attributes:
        raw: The results.
        before: The old level, "" if unknown.
        after: The new level, "" if unknown.
    """

    raw: str
    before: str
    after: str


def sparkline(trace: Trace | None) -> Sparkline | None:
    """Return the paths of a trace; None for fewer than two results.

    Example:
        >>> sparkline(Trace((1.0, 1.0, 2.0), 2, ((0, 2, 1.0), (2, 3, 2.0))))
        Sparkline(raw='M0 56L120 56L240 4', before='M0 56H180', after='M180 4H240')
    """
    if trace is None or len(trace.values) < 2:
        return None
    levels = [level for *_, level in trace.levels]
    low, high = _limits(trace.values, levels)
    scale = (HEIGHT - 2 * MARGIN) / (high - low) if high > low else 0.0

    def y(value: float) -> int:
        return round(HEIGHT - MARGIN - (min(max(value, low), high) - low) * scale)

    step = WIDTH / (len(trace.values) - 1)
    raw = "L".join(f"{round(k * step)} {y(value)}" for k, value in enumerate(trace.values))
    paths = {
        start >= trace.split: f"M{_edge(start, step)} {y(level)}H{_edge(end, step)}"
        for start, end, level in trace.levels
    }
    return Sparkline(f"M{raw}", paths.get(False, ""), paths.get(True, ""))


def _edge(index: int, step: float) -> int:
    """Return where a level begins or ends: half way between two results."""
    return min(max(round((index - 0.5) * step), 0), WIDTH)


def _limits(values: Sequence[float], levels: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the vertical axis, which an outlier does not stretch."""
    ordered, kept = sorted(values), int(TAIL * len(values))
    inner = ordered[kept : len(ordered) - kept]
    return min([inner[0], *levels]), max([inner[-1], *levels])
