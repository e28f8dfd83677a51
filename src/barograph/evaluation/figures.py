"""Figures, drawn without a screen and with the same bytes each time."""

from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from barograph.files import whole
from barograph.series import Floats

Z = 1.96  # standard deviations of a 95 % interval


def save(figure: Figure, path: Path) -> None:
    """Write a PNG without a date and without the version of the program."""
    with whole(path) as draft, mpl.rc_context({"savefig.dpi": 120}):
        figure.savefig(draft, format="png", metadata={"Software": None})


def note_figure(text: str, path: Path) -> None:
    """Draw a figure that only says why there is nothing to draw."""
    figure = Figure(figsize=(8, 1), layout="constrained")
    figure.text(0.02, 0.5, text, wrap=True, va="center")
    save(figure, path)


class CalibrationBin(NamedTuple):
    """Rows of similar probability: the mean, the share of real ones, its interval, the count."""

    stated: float
    share: float
    low: float
    high: float
    rows: int


def calibration_bins(
    truth: npt.NDArray[np.int64], probability: Floats, count: int = 10
) -> list[CalibrationBin]:
    """Return the bins of equal width that have rows, with Wilson's 95 % interval of each share.

    Args:
        truth: 1 for real changes, 0 for noise.
        probability: The stated probabilities.
        count: The number of bins.

    Example:
        >>> truth, probability = np.array([0, 0, 1, 1]), np.array([0.05, 0.05, 0.95, 0.95])
        >>> [one.rows for one in calibration_bins(truth, probability)]
        [2, 2]
    """
    number = np.minimum((probability * count).astype(np.int64), count - 1)
    result = []
    for one in np.unique(number):
        own = number == one
        rows, share = int(own.sum()), float(truth[own].mean())
        scale = 1.0 / (1.0 + Z**2 / rows)
        middle = scale * (share + Z**2 / (2 * rows))
        half = scale * Z * np.sqrt(share * (1 - share) / rows + Z**2 / (4 * rows**2))
        edges = max(0.0, float(middle - half)), min(1.0, float(middle + half))
        result.append(CalibrationBin(float(probability[own].mean()), share, *edges, rows))
    return result


def held_out_figure(
    truth: npt.NDArray[np.int64], probability: Floats, name: str, path: Path
) -> None:
    """Draw the ROC curve and the calibration of a model on held-out rows.

    The calibration has a point for each bin with its 95 % interval and its number of rows.
    """
    from sklearn.metrics import roc_curve

    figure = Figure(figsize=(8, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    false_alarms, found, _ = roc_curve(truth, probability)
    left.plot(false_alarms, found, color="#20508f")
    left.set(
        xlabel="share of noise called real", ylabel="share of real found", title=f"{name}: ROC"
    )
    bins = calibration_bins(truth, probability)
    for stated, share, low, high, rows in bins:
        right.plot([stated, stated], [low, high], color="#20508f", alpha=0.5)
        right.plot([stated], [share], "o", color="#20508f")
        right.annotate(str(rows), (stated, share), (4, 4), textcoords="offset points", fontsize=8)
    right.set(xlabel="probability", ylabel="share of real", title="calibration (number of rows)")
    for axes in (left, right):
        axes.plot([0, 1], [0, 1], linestyle="--", color="#999999")
        axes.grid(alpha=0.3)
    save(figure, path)
