"""Draw the panels of a picture with matplotlib.

Results are pale dots; levels are dark lines with their value. Colour only says better or worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from barograph.report.changes import SLOW
from barograph.report.panel import Panel
from barograph.results.series import ChangePoint
from barograph.results.sizes import size_at
from barograph.results.wording import (
    BETTER,
    TREND,
    WORSE,
    change_text,
    middle_cut,
    number,
    probability_text,
    typeset,
    unit_text,
)
from barograph.runtime.errors import DataError

WIDTH, HEIGHT = 10.0, 3.4  # inches of a panel
PAPER, INK, INK_2, INK_3 = "#ffffff", "#1d1c19", "#54514a", "#69655c"
TRACE, GRID = "#8a857a", "#eeebe4"
COLOURS = {WORSE: "#b3340d", BETTER: "#0b6b5c"}
LONGEST = 110  # letters of a title
FAINT = 0.35
DRIFTING, NOISY = 0.07, 0.04  # opacity of bands
MANY = 1000  # dots; more are pixels even in a vector file
CLOSE = 0.16  # share of the width that the label of a change needs
NARROW = 0.06  # share of the width that the value of a level needs


class SeriesFigure(Figure):
    """A figure that notebooks show, although pyplot does not know it."""

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()


def figure_of(panels: Sequence[Panel]) -> Figure:
    """Return a new figure with one panel below the other."""
    size = (WIDTH, HEIGHT * len(panels))
    figure = SeriesFigure(figsize=size, dpi=144, facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, panel in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
        draw_in(axes, panel)
    return figure


def draw_in(axes: Axes, panel: Panel) -> Figure:
    """Draw a panel in the axes of a figure, and return the figure."""
    axes.set(xlim=(-0.5 - 0.005 * panel.values.size, panel.values.size - 0.5), ylim=panel.limits)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.tick_params(length=0, labelcolor=INK_3, labelsize=9, pad=6)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(panel.day))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter("{x:,.10g}")
    if panel.unit:
        axes.set_ylabel(unit_text(panel.unit), color=INK_3, parse_math=False)
    _draw_slow(axes, panel)
    _draw_results(axes, panel)
    _draw_levels(axes, panel)
    labelled: list[float] = []
    for point in sorted(panel.change_points, key=lambda point: -(point.probability or 0.0)):
        place = point.index - 0.5
        has_room = all(abs(place - other) >= CLOSE * panel.values.size for other in labelled)
        labelled += [place] * has_room
        _draw_change_point(axes, panel, point, is_labelled=has_room)
    heading = "\n".join(filter(None, [middle_cut(panel.title, LONGEST), panel.subtitle]))
    above = 34 if panel.change_points else 6
    axes.set_title(heading, loc="left", fontsize=9, color=INK, pad=above, parse_math=False)
    figure: Figure | SubFigure | None = axes.get_figure(root=True)
    if not isinstance(figure, Figure):
        raise DataError("ax belongs to no figure")
    return figure


def _draw_slow(axes: Axes, panel: Panel) -> None:
    """Draw a drift as a dashed line over a band, and a change of noise as a fainter band."""
    for slow in panel.slow:
        begin, end = slow.begin - 0.5, slow.end - 0.5
        is_drift = slow.kind == "drift"
        shade = DRIFTING if is_drift else NOISY
        axes.axvspan(begin, end, color=INK, alpha=shade, linewidth=0, zorder=0)
        if is_drift:
            ends = [slow.before, slow.after]
            axes.plot([begin, end], ends, color=INK, linewidth=1.5, linestyle=(0, (4, 3)))
        is_late = begin > (1 - CLOSE) * panel.values.size
        place, shift = ((end, 0.0), (-4, 4)) if is_late else ((begin, 0.0), (4, 4))
        axes.annotate(
            *(typeset(f"{SLOW[slow.kind]} {change_text(slow.percent)}"), place, shift),
            ha="right" if is_late else "left",
            xycoords=axes.get_xaxis_transform(),
            textcoords="offset points",
            parse_math=False,
            fontsize=8,
            color=INK_3,
        )


def _draw_results(axes: Axes, panel: Panel) -> None:
    """Draw a dot for each result, and a triangle at the edge for those outside the scale."""
    index, beyond = np.arange(panel.values.size), panel.beyond
    size = float(np.clip(40.0 / np.sqrt(index.size), 1.2, 3.4))
    style: dict[str, Any] = {"markersize": size, "markeredgewidth": 0, "color": TRACE}
    inside = beyond == 0
    axes.plot(index[inside], panel.values[inside], "o", rasterized=index.size > MANY, **style)
    for side, edge, marker in ((-1, 0.03, "v"), (1, 0.97, "^")):
        far = index[beyond == side]
        transform = axes.get_xaxis_transform()
        height = np.full(far.size, edge)
        axes.plot(far, height, marker, color=INK_3, markersize=4.5, transform=transform)


def _draw_levels(axes: Axes, panel: Panel) -> None:
    """Draw a line for each level, with its value above where there is room.

    It is strong where a change was measured with it, and faint elsewhere.
    """
    for start, end, level, is_used in panel.levels:
        alpha = 1.0 if is_used else FAINT
        axes.plot([start - 0.5, end - 0.5], [level, level], color=INK, alpha=alpha, linewidth=1.5)
        is_named = is_used or not panel.change_points
        if is_named and (end - start > NARROW * panel.values.size or len(panel.levels) == 1):
            style: dict[str, Any] = {"fontsize": 8.5, "color": INK_2, "parse_math": False}
            place, shift = (start - 0.5, level), (4, 3)
            axes.annotate(typeset(number(level)), place, shift, textcoords="offset points", **style)


def _draw_change_point(axes: Axes, panel: Panel, point: ChangePoint, *, is_labelled: bool) -> None:
    """Mark a change point; its label has the change, the probability and the place."""
    place, size, transform = point.index - 0.5, size_at(point), axes.get_xaxis_transform()
    colour = COLOURS.get(size.effect(panel.direction), INK)
    is_likely = point.probability is None or point.probability >= 0.5
    axes.axvline(place, color=INK_3, linewidth=0.9, linestyle=":", zorder=1)
    axes.plot(
        *([place], [1.0], "o"),
        markersize=5.5,
        markerfacecolor=colour if is_likely else PAPER,
        markeredgecolor=colour,
        transform=transform,
        clip_on=False,
    )
    sure = "" if point.probability is None else f"{probability_text(point.probability)} real"
    change = typeset(change_text(size.percent)) + f" {TREND}" * size.is_trend
    new = "new" * point.is_new
    details = " \u00b7 ".join(filter(None, [sure, new, panel.place(point.index)]))
    share = place / panel.values.size
    side = "left" if share < CLOSE / 2 else "right" if share > 1 - CLOSE / 2 else "center"
    for text, above, style in (
        (change, 20, {"color": colour, "fontweight": "bold"}),
        (details, 8, {"color": INK_3, "fontsize": 8}),
    )[: 2 * is_labelled]:
        axes.annotate(
            *(text, (place, 1.0), (0, above)),
            xycoords=transform,
            textcoords="offset points",
            annotation_clip=False,
            parse_math=False,
            ha=side,
            **style,
        )
