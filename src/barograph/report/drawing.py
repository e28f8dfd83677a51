"""Draw the panels of a picture with matplotlib.

Results are pale dots; levels are dark lines with their value. Colour only says better or worse.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib import font_manager, rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, MaxNLocator

from barograph.report.labels import INK, INK_2, INK_3, PAPER, draw_change_points
from barograph.report.panel import Panel
from barograph.results.wording import number, typeset, unit_text
from barograph.runtime.errors import DataError

WIDTH, HEIGHT = 10.0, 2.4  # inches of a figure, and of the axes of a panel
BOTTOM, RIGHT = 0.45, 0.3  # inches beside the axes; the left side depends on the labels
UNIT = 0.2  # inches that the unit takes beside the numbers of the vertical axis
TRACE, LINE, GRID = "#8a857a", "#e5e2da", "#eeebe4"
FONTS = ("Inter", "Segoe UI", "Helvetica Neue", "Helvetica", "Arial", "DejaVu Sans")
FAINT = 0.35
MANY = 1000  # dots; more are pixels even in a vector file


class SeriesFigure(Figure):
    """A figure that notebooks show, although pyplot does not know it."""

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()


def figure_of(panels: Sequence[Panel]) -> Figure:
    """Return a new figure with one panel below the other."""
    height = sum(panel.top + HEIGHT + BOTTOM for panel in panels)
    figure = SeriesFigure(figsize=(WIDTH, height), dpi=144, facecolor=PAPER)
    FigureCanvasAgg(figure)
    edge = height
    with _style():
        for panel in panels:
            edge -= panel.top + HEIGHT
            _scale(figure.add_axes((0.1, edge / height, 0.87, HEIGHT / height)), panel)
            edge -= BOTTOM
        labels = [label for axes in figure.axes for label in axes.get_yticklabels()]
        widest = max((label.get_window_extent().width for label in labels), default=0.0)
        side = 0.3 + (UNIT if any(panel.unit for panel in panels) else 0.0)
        left = (widest / figure.dpi + side) / WIDTH
        for axes, panel in zip(figure.axes, panels, strict=True):
            place = axes.get_position()
            axes.set_position((left, place.y0, 1 - left - RIGHT / WIDTH, place.height))
            _draw(axes, panel)
    return figure


def draw_in(axes: Axes, panel: Panel) -> Figure:
    """Draw a panel in the axes of a figure, and return the figure."""
    with _style():
        _scale(axes, panel)
        _draw(axes, panel)
    figure: Figure | SubFigure | None = axes.get_figure(root=True)
    if not isinstance(figure, Figure):
        raise DataError("ax belongs to no figure")
    return figure


@contextmanager
def _style() -> Iterator[None]:
    """Draw in the house style; the user's own settings are as before afterwards."""
    installed = set(font_manager.get_font_names())
    family = [name for name in FONTS if name in installed] or ["sans-serif"]
    with rc_context({"font.family": family, "font.size": 9.0, "text.color": INK}):
        yield


def _draw(axes: Axes, panel: Panel) -> None:
    _draw_results(axes, panel)
    _draw_levels(axes, panel)
    draw_change_points(axes, panel)
    notes = [_note(axes, panel.subtitle, panel.above, color=INK_3)]
    if panel.title:
        notes.append(_note(axes, panel.title, panel.above + 15, fontsize=11, fontweight="bold"))
    for note in notes:
        _shorten(note, axes.get_window_extent().x1)


def _scale(axes: Axes, panel: Panel) -> None:
    axes.set_xlim(-0.5 - 0.005 * panel.values.size, panel.values.size - 0.5)
    axes.set_ylim(*panel.limits)
    axes.set_facecolor(PAPER)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.spines["bottom"].set_color(LINE)
    axes.tick_params(length=0, labelcolor=INK_3, labelsize=9, pad=6)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(panel.day))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter("{x:,.10g}")
    if panel.unit:
        axes.set_ylabel(unit_text(panel.unit), color=INK_3, parse_math=False)


def _draw_results(axes: Axes, panel: Panel) -> None:
    """Draw a dot for each result, and a triangle at the edge for those outside the scale."""
    size, beyond = panel.values.size, panel.beyond
    index = np.arange(size)
    axes.plot(
        *(index[beyond == 0], panel.values[beyond == 0]),
        linestyle="none",
        marker="o",
        markersize=float(np.clip(40.0 / math.sqrt(size), 1.2, 3.4)),
        markeredgewidth=0,
        color=TRACE,
        rasterized=size > MANY,
    )
    for side, edge, marker in ((-1, 0.03, "v"), (1, 0.97, "^")):
        far = index[beyond == side]
        axes.plot(
            *(far, np.full(far.size, edge)),
            linestyle="none",
            marker=marker,
            markersize=4.5,
            markerfacecolor=PAPER,
            markeredgecolor=INK_3,
            markeredgewidth=0.9,
            transform=axes.get_xaxis_transform(),
        )


def _draw_levels(axes: Axes, panel: Panel) -> None:
    """Draw a line for each level, with its value above where there is room.

    It is strong where a change was measured with it, and faint elsewhere.
    """
    halo = [withStroke(linewidth=2.5, foreground=PAPER)]
    for k, (start, end, level, is_used) in enumerate(panel.levels):
        axes.plot(
            [start - 0.5, end - 0.5],
            [level, level],
            color=INK,
            alpha=1.0 if is_used else FAINT,
            linewidth=1.5,
            solid_capstyle="butt",
        )
        if panel.change_points and not is_used:
            continue
        # The value of a level may stand above the faint line that continues it.
        following = (line.start for line in panel.levels[k + 1 :] if line.is_used)
        room = next(following, panel.values.size)
        text = axes.annotate(
            typeset(number(level)),
            (start - 0.5, level),
            (4, 3),
            textcoords="offset points",
            fontsize=8.5,
            color=INK_2,
            path_effects=halo,
            parse_math=False,
        )
        left, right = (axes.transData.transform((x - 0.5, level))[0] for x in (start, room))
        if text.get_window_extent().width > right - left - 4:
            text.remove()


def _note(axes: Axes, text: str, above: float, **style: Any) -> Annotation:
    """Write text at the left end, some points above the axes."""
    return axes.annotate(
        *(text, (0, 1), (0, above)),
        xycoords="axes fraction",
        textcoords="offset points",
        annotation_clip=False,
        parse_math=False,
        **style,
    )


def _shorten(note: Annotation, right: float) -> None:
    """Cut the middle out of a text that runs over the right end."""
    text = note.get_text()
    length = len(text)
    while note.get_window_extent().x1 > right and length > 8:
        length -= 2
        note.set_text(f"{text[: length // 2]}\u2026{text[len(text) - length // 2 :]}")
