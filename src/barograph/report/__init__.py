"""`plot`: a picture of a series with its levels and change points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from barograph.results.series import ChangePoint, Direction, Series
from barograph.runtime.errors import ConfigError, DataError
from barograph.runtime.extras import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from barograph.report.panel import Panel

MOST_PANELS = 20


def plot(
    values: Any,
    change_points: Sequence[ChangePoint] | None = None,
    *,
    title: str | None = None,
    direction: int = 0,
    ax: Axes | None = None,
) -> Figure:
    """Draw a series with its levels and its change points, drifts and changes of noise.

    Needs matplotlib: `pip install '.[plot]'`.

    Args:
        values: What `detect` takes, or a history of at most 20 series, which get a panel each.
        change_points: The change points of one series. Defaults to those of `detect`, with the
            drifts and changes of noise that `slow_changes` finds.
        title: The title. Defaults to the identity of a series, if it has one.
        direction: 1 if higher is better, -1 if lower is better: changes are then coloured. A
            series of a history has its own.
        ax: The axes to draw one series in. Defaults to a new figure. Labels are drawn above the
            axes: a figure with `layout="constrained"` makes room for them.

    Returns:
        The figure: notebooks show it, and `figure.savefig("series.png")` writes it.

    Raises:
        DataError: The values are not those of a series, the history has no series or too many, or
            the change points are not those of a detector in this series.
        ConfigError: matplotlib is not installed, the direction is not -1, 0 or 1, or `ax` is no
            axes.

    Example:
        >>> figure = plot([10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 20, title="latency")
        >>> figure.savefig("series.png")
    """
    with needed("plot", "plot"):
        from matplotlib.axes import Axes

        from barograph.report import drawing
    from barograph.results.history import History

    if ax is not None and not isinstance(ax, Axes):
        raise ConfigError(f"ax is {type(ax).__name__}: it must be one Axes of matplotlib")
    if direction not in (-1, 0, 1):
        raise ConfigError(f"direction is {direction!r}: allowed are -1, 0 and 1")
    series = list(values) if isinstance(values, History) else [values]
    if not series:
        raise DataError("values is a history without series")
    limit = MOST_PANELS if ax is None and change_points is None else 1
    if len(series) > limit:
        raise DataError(
            f"values is a history of {len(series)} series; at most {limit} can be drawn here: "
            "pass one of them, such as history[0]"
        )
    panels = [_panel(each, change_points, title, Direction(direction)) for each in series]
    return drawing.figure_of(panels) if ax is None else drawing.draw_in(ax, panels[0])


def _panel(
    series: Any, points: Sequence[ChangePoint] | None, title: str | None, direction: Direction
) -> Panel:
    from barograph.api import as_values, detect
    from barograph.detection.slow import slow_changes
    from barograph.report.panel import Panel

    numbers, slow = as_values(series), []
    if points is None:
        points, slow = detect(numbers), slow_changes(numbers)
    if not isinstance(series, Series):
        return Panel(numbers, points, title or "", direction, slow=slow)
    title, direction = str(series.id) if title is None else title, series.direction or direction
    known = series.commits, series.times, series.unit
    return Panel(numbers, points, title, direction, *known, slow)
