"""Pictures of the tables, drawn without a screen and with the same bytes each time."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure

from barograph.files import whole
from barograph.series import Floats

COLORS = ("#20508f", "#2e8b57", "#b0451f")


def save(figure: Figure, path: Path) -> None:
    """Write a PNG; no date and no program version goes into it."""
    with whole(path) as draft, mpl.rc_context({"savefig.dpi": 120}):
        figure.savefig(draft, format="png", metadata={"Software": None})


def window_figure(table: pd.DataFrame, subtitle: str, path: Path) -> None:
    """Draw AUC by window size with intervals; the uncut bounds, the last row, as a dashed line."""
    sizes, uncut = table.iloc[:-1], table.iloc[-1]
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    spread = [sizes["auc"] - sizes["low"], sizes["high"] - sizes["auc"]]
    axes.errorbar(sizes["window"], sizes["auc"], yerr=spread, fmt="o-", capsize=3, color="#20508f")
    axes.axhline(uncut["auc"], linestyle="--", color="#b0451f", label=f"{uncut['window']} bounds")
    axes.set(
        xlabel="points after the candidate (window size)",
        ylabel="AUC",
        title=f"How many results after a change are needed? ({subtitle})",
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    save(figure, path)


def learning_figure(table: pd.DataFrame, subtitle: str, path: Path) -> None:
    """Draw AUC by the number of own verdicts, a line a way; what has one point is a dashed one."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for (way, line), color in zip(table.groupby("way"), COLORS, strict=False):
        if len(line) == 1:
            axes.axhline(line["auc"].iloc[0], linestyle="--", color="#999999", label=way)
        else:
            axes.plot(line["verdicts"], line["auc"], "o-", color=color, label=way)
            axes.fill_between(line["verdicts"], line["low"], line["high"], color=color, alpha=0.15)
    axes.set(
        xscale="log",
        xlabel="own verdicts",
        ylabel="AUC",
        title=f"How many verdicts are needed? ({subtitle})",
    )
    sizes = sorted({*table["verdicts"]} - {0})
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    save(figure, path)


def held_out_figure(
    truth: npt.NDArray[np.int64], probability: Floats, name: str, path: Path
) -> None:
    """Draw the ROC curve and the calibration of a model on rows it has not seen."""
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import roc_curve

    figure = Figure(figsize=(8, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    false_alarms, found, _ = roc_curve(truth, probability)
    left.plot(false_alarms, found, color="#20508f")
    left.set(
        xlabel="share of noise called real", ylabel="share of real found", title=f"{name}: ROC"
    )
    share, said = calibration_curve(truth, probability, n_bins=10)
    right.plot(said, share, "o-", color="#20508f")
    right.set(xlabel="probability", ylabel="share of real", title="calibration")
    for axes in (left, right):
        axes.plot([0, 1], [0, 1], linestyle="--", color="#999999")
        axes.grid(alpha=0.3)
    save(figure, path)
