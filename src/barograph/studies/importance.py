"""Feature importance: the mean contribution of each feature, and those of single candidates.

Boosted trees are explained by the Shapley values (TreeSHAP, Lundberg et al. 2020) of XGBoost's own
model, which `train` keeps for this purpose; forests and the built-in models by the contributions
along their decision paths. Other models are not explained.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from barograph.learning.figures import save
from barograph.models.trees import Boosted
from barograph.models.triage import TriageModel
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import ArtifactError

SHAP, PATHS = "TreeSHAP", "decision paths"
UNITS = {SHAP: "log-odds, before calibration", PATHS: "probability"}
MAX_DIFFERENCE = 1e-4  # in log-odds, due to sums in float32


@dataclass(frozen=True)
class Explanation:
    """Explained rows; base and parts of a row add up to the model's output.

    Attributes:
        method: `SHAP` or `PATHS`.
        names: The names of the parts.
        base: The base value of all rows.
        parts: The contributions, one row per explained row.
    """

    method: str
    names: list[str]
    base: float
    parts: Floats

    def importance(self, use: str) -> pd.DataFrame:
        """Return the mean absolute contribution of each feature, the largest first."""
        mean = np.abs(self.parts).mean(axis=0)
        order = np.argsort(-mean, kind="stable")
        columns = {"use": use, "feature": np.array(self.names)[order], "mean_abs": mean[order]}
        return pd.DataFrame(columns).assign(method=self.method, unit=UNITS[self.method])

    def largest(self, count: int) -> list[str]:
        """Return the largest contributions of each row as text."""
        texts = []
        for row in self.parts:
            order = np.argsort(-np.abs(row), kind="stable")[:count]
            texts.append("; ".join(f"{self.names[k]} {row[k]:+.3f}" for k in order))
        return texts


def explain(model: TriageModel, library: Path, rows: Floats) -> Explanation:
    """Explain rows of features.

    Args:
        model: The model to explain.
        library: The file of XGBoost's own model; the built-in models have none.
        rows: The feature rows, with the columns of the model.

    Raises:
        ConfigError: The classifier is neither a forest nor boosted trees.
    """
    if isinstance(model.classifier, Boosted) and library.is_file():
        base, parts = shapley_values(library.read_bytes(), model.classifier, rows)
        return Explanation(SHAP, list(model.columns), base, parts)
    base, parts = model.reasons(rows)
    return Explanation(PATHS, list(model.reason_names), base, parts)


def shapley_values(library: bytes, boosted: Boosted, rows: Floats) -> tuple[float, Floats]:
    """Return a base, and the Shapley values of each row; they add up to the log-odds.

    Args:
        library: The result of `library_bytes`.
        boosted: The same model as it is served.
        rows: One row of features for each candidate.

    Raises:
        ArtifactError: The two forms are not the same model.
    """
    from xgboost import Booster, DMatrix

    booster = Booster({"nthread": 1})
    booster.load_model(bytearray(library))
    data = DMatrix(rows, nthread=1)
    values = booster.predict(data, pred_contribs=True).astype(np.float64)
    gap = float(np.abs(booster.predict(data, output_margin=True) - boosted.margin(rows)).max())
    if gap > MAX_DIFFERENCE:
        raise ArtifactError(
            f"the XGBoost model and the artifact differ by {gap:.2g} in log-odds, more than "
            f"{MAX_DIFFERENCE}: they come from different trainings"
        )
    return float(values[0, -1]), values[:, :-1]


def evenly_spaced(count: int, limit: int) -> Ints:
    """Return at most `limit` numbers below `count`, evenly spaced."""
    return np.unique(np.linspace(0, count - 1, min(count, limit)).astype(np.int64))


def importance_figure(
    importance: pd.DataFrame, names: list[str], parts: Floats, labels: list[str], path: Path
) -> None:
    """Draw the most important features as bars, with their contributions to single candidates.

    Args:
        importance: The features to draw, in order, with `mean_abs` and a common `unit`.
        names: The features of the columns of `parts`.
        parts: The contributions, one row per candidate.
        labels: The labels of the rows of `parts`.
        path: The PNG to write.
    """
    figure = Figure(figsize=(11, 6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.2), sharey=True)
    positions = np.arange(len(importance))
    left.barh(positions, importance["mean_abs"], color="#20508f")
    left.set(title="mean absolute part", xlabel=str(importance["unit"].iloc[0]))
    left.set_yticks(positions, importance["feature"].tolist())
    left.grid(axis="x", alpha=0.3)
    right.set(title="parts of the surest candidates")
    right.tick_params(axis="y", left=False)
    if not len(parts):
        right.text(
            0.5, 0.5, "every candidate has a verdict", transform=right.transAxes, ha="center"
        )
        right.set_xticks([])
        save(figure, path)
        return
    shown = parts[:, [names.index(name) for name in importance["feature"]]].T
    largest = float(np.abs(shown).max()) or 1.0
    # Bars and image share the rows of the figure.
    image = right.imshow(shown, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
    right.set_xticks(np.arange(len(labels)), labels, rotation=90)
    figure.colorbar(image, ax=right, label="towards noise      towards real")
    save(figure, path)
