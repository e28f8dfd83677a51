"""Draw the change points of a panel: a line for each, and a label where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from barograph.report.panel import GAP, LANE, Panel
from barograph.results.sizes import size_at
from barograph.results.wording import BETTER, TREND, WORSE, change_text, probability_text, typeset

PAPER, INK, INK_2, INK_3 = "#ffffff", "#1d1c19", "#54514a", "#69655c"
COLOURS = {WORSE: "#b3340d", BETTER: "#0b6b5c"}
SIDES = ("center", "left", "right")  # of a label, at the line of its change point
DOTTED = (0, (1, 2.2))


def draw_change_points(axes: Axes, panel: Panel) -> None:
    """Mark the change points; label as many as there is room for, the surest first.

    A label has the change, the probability and, where the points are far apart, the place.
    """
    occupied: list[Bbox] = []
    for point in sorted(panel.change_points, key=lambda point: -(point.probability or 0.0)):
        size = size_at(point)
        place, colour = point.index - 0.5, COLOURS.get(size.effect(panel.direction), INK)
        likely = point.probability is None or point.probability >= 0.5
        axes.axvline(place, color=INK_3, linewidth=0.9, linestyle=DOTTED, zorder=1)
        axes.plot(
            *([place], [1.0]),
            marker="o",
            markersize=5.5,
            markeredgewidth=1.3,
            markerfacecolor=colour if likely else PAPER,
            markeredgecolor=colour,
            transform=axes.get_xaxis_transform(),
            clip_on=False,
            zorder=4,
        )
        sure = "" if point.probability is None else f"{probability_text(point.probability)} real"
        place_name = "" if panel.lanes > 1 else panel.place(point.index)
        below = " · ".join(filter(None, [sure, place_name]))
        texts = typeset(change_text(size.percent)) + f" {TREND}" * size.is_trend, below
        for lane, side in product(range(panel.lanes), SIDES):
            boxes = _label(axes, place, lane, side, texts, colour, occupied)
            occupied += boxes
            if boxes:
                break


def _label(
    axes: Axes,
    place: float,
    lane: int,
    side: str,
    texts: tuple[str, str],
    colour: str,
    occupied: list[Bbox],
) -> list[Bbox]:
    """Write the two lines of a label into a lane, with a leader; nothing if there is no room.

    Returns:
        The boxes that are taken now.
    """
    base, shift = GAP + lane * LANE, {"center": 0, "left": -4, "right": 4}[side]
    change, details = texts
    bold = {"ha": side, "color": colour, "fontweight": "bold"}
    added = [
        _annotate(axes, change, place, (shift, base + 12), **bold),
        _annotate(axes, details, place, (shift, base), ha=side, color=INK_3, fontsize=8),
    ]
    if lane:
        leader = {"arrowstyle": "-", "color": INK_3, "linewidth": 0.9, "linestyle": DOTTED}
        ends = {"shrinkA": 0, "shrinkB": 3}
        added.append(_annotate(axes, "", place, (0, base - 3), arrowprops=leader | ends))
    _keep_inside(axes, added[:2])
    boxes = [label.get_window_extent().padded(4) for label in added]
    if any(box.count_overlaps(occupied) for box in boxes):
        for label in added:
            label.remove()
        return []
    return boxes


def _annotate(
    axes: Axes, text: str, place: float, offset: tuple[float, float], **style: Any
) -> Annotation:
    """Write a text above the axes, some points away from a place on their upper edge."""
    return axes.annotate(
        text,
        (place, 1.0),
        offset,
        xycoords=axes.get_xaxis_transform(),
        textcoords="offset points",
        annotation_clip=False,
        parse_math=False,
        **style,
    )


def _keep_inside(axes: Axes, labels: Sequence[Annotation]) -> None:
    """Move labels that would run over the left or right end of the axes."""
    area = axes.get_window_extent()
    for label in labels:
        box = label.get_window_extent()
        shift = max(area.x0 - box.x0, 0.0) + min(area.x1 - box.x1, 0.0)
        figure = label.get_figure(root=True)
        x, y = label.get_position()
        label.set_position((x + shift * 72.0 / (figure.dpi if figure else 72.0), y))
