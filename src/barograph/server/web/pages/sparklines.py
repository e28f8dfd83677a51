"""Small plots as SVG paths: no script draws them, so they are there with the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from barograph.server.triage.effects import Trace

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
        >>> from barograph.server.triage.effects import Effect
        >>> sparkline(Trace((1.0, 1.0, 2.0), 2, Effect(1.0, 2.0, 2, 1, is_clear=True)))
        Sparkline(raw='M0 56L120 56L240 4', before='M0 56H180', after='M180 4H240')
    """
    if trace is None or len(trace.values) < 2:
        return None
    known, size, split = trace.levels, len(trace.values), trace.split
    levels = None if known is None else known.size
    low, high = _limits(trace.values, levels[:2] if levels else ())
    step = WIDTH / (size - 1)

    height, bottom = HEIGHT - 2 * MARGIN, HEIGHT - MARGIN
    span = high - low if high > low else 1.0

    def y(value: float) -> int:
        kept = low if value < low else min(value, high)
        return round(bottom - (kept - low) / span * height)

    def level(start: int, end: int, value: float) -> str:
        return f"M{_edge(start, step)} {y(value)}H{_edge(end, step)}" if end > start else ""

    raw = "L".join(f"{round(k * step)} {y(value)}" for k, value in enumerate(trace.values))
    if known is None or levels is None:
        return Sparkline(f"M{raw}", "", "")
    before = level(max(0, split - known.count_before), split, levels.before)
    after = level(split, min(size, split + known.count_after), levels.after)
    return Sparkline(f"M{raw}", before, after)


def _edge(index: int, step: float) -> int:
    """Return where a level begins or ends: half way between two results."""
    return min(max(round((index - 0.5) * step), 0), WIDTH)


def _limits(values: Sequence[float], levels: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the vertical axis, which an outlier does not stretch."""
    ordered, kept = sorted(values), int(TAIL * len(values))
    inner = ordered[kept : len(ordered) - kept]
    return min([inner[0], *levels]), max([inner[-1], *levels])
