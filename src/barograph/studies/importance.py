"""Pictures of what moves a model: each feature's mean part, and the parts of single candidates."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from barograph.evaluation.figures import save
from barograph.series import Floats


def importance_figure(
    importance: pd.DataFrame, names: list[str], parts: Floats, labels: list[str], path: Path
) -> None:
    """Draw the most important features as bars, and beside them their parts of candidates.

    Args:
        importance: The features to draw with their `mean_abs`, the greatest first, one `unit`.
        names: What the columns of `parts` belong to.
        parts: One row for each candidate.
        labels: What the rows of `parts` are called.
        path: The PNG to write.
    """
    figure = Figure(figsize=(11, 6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.2), sharey=True)
    places = np.arange(len(importance))
    left.barh(places, importance["mean_abs"], color="#20508f")
    left.set(title="mean absolute part", xlabel=str(importance["unit"].iloc[0]))
    left.set_yticks(places, importance["feature"].tolist())
    left.grid(axis="x", alpha=0.3)
    shown = parts[:, [names.index(name) for name in importance["feature"]]].T
    most = float(np.abs(shown).max(initial=0.0)) or 1.0
    # The picture's rows run downwards, and the bars share them.
    image = right.imshow(shown, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto")
    right.set(title="parts of the surest candidates")
    right.set_xticks(np.arange(len(labels)), labels, rotation=90)
    right.tick_params(axis="y", left=False)
    figure.colorbar(image, ax=right, label="towards noise      towards real")
    save(figure, path)
