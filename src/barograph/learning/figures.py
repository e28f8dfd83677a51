"""Figures, drawn without a screen and with the same bytes each time."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from barograph.learning.shares import calibration_bins
from barograph.results.series import Floats
from barograph.runtime.files import whole


def save(figure: Figure, path: Path) -> None:
    """Write a PNG without a date and without the version of the program."""
    with whole(path) as draft, mpl.rc_context({"savefig.dpi": 120}):
        figure.savefig(draft, format="png", metadata={"Software": None})


def note_figure(text: str, path: Path) -> None:
    """Draw a figure that only says why there is nothing to draw."""
    figure = Figure(figsize=(8, 1), layout="constrained")
    figure.text(0.02, 0.5, text, wrap=True, va="center")
    save(figure, path)


def held_out_figure(
    truth: npt.NDArray[np.int64], probability: Floats, name: str, path: Path
) -> None:
    """Draw the ROC curve and the calibration of a model on held-out rows.

    The calibration has a point for each bin with its 95 % interval and its number of rows.
    """
    from sklearn.metrics import roc_curve

    figure = Figure(figsize=(8, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    false_alarms, true_alarms, _ = roc_curve(truth, probability)
    left.plot(false_alarms, true_alarms, color="#20508f")
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
