"""Figure 2 of Bauer et al. 2022: AUC by the number of results after the candidate."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from barograph.features.subseries import WIDEST
from barograph.learning import tables
from barograph.learning.figures import save
from barograph.learning.limits import Bounds, Classifier, Count, FeatureSet, Goal, Seed
from barograph.learning.metrics import summary
from barograph.learning.protocols import is_usable, random_splits
from barograph.studies.repetitions import Repetition, repeat


@dataclass(frozen=True)
class WindowsParams:
    """Parameters of the stage `windows`.

    Attributes:
        feature_set: The feature set of the classifier.
        classifier: The name of the classifier in the catalogue.
        base: The policy whose bounds are cut to windows.
        repetitions: The number of splits.
        trees: The number of trees of every forest.
        goal: The goal for which thresholds are chosen.
        seed: Seed of splits and classifiers.
    """

    feature_set: FeatureSet
    classifier: Classifier
    base: Bounds
    repetitions: Count
    trees: Count
    goal: Goal
    seed: Seed


def auc_by_window(params: WindowsParams) -> pd.DataFrame:
    """Return AUC with its interval for windows 0 to 10; the last row has the uncut bounds."""
    policies = {str(w): f"{params.base}:w{w}" for w in range(WIDEST + 1)}
    policies[params.base] = params.base
    repetitions = {window: _repetitions(policy, params) for window, policy in policies.items()}
    scores = iter(repeat([single for group in repetitions.values() for single in group], "windows"))
    rows = []
    for window, group in repetitions.items():
        auc = summary([next(scores) for _ in group])["auc"]
        rows.append({"window": window, "auc": auc.mean, "low": auc.low, "high": auc.high})
    return pd.DataFrame(rows)


def _repetitions(policy: str, params: WindowsParams) -> list[Repetition]:
    rows = tables.labelled(tables.read(policy), params.feature_set)
    splits = random_splits(rows.truth.size, params.repetitions, params.seed)
    return [
        Repetition(params.classifier, rows, split, params.seed + k, params.trees, params.goal)
        for k, split in enumerate(splits)
        if is_usable(split, rows.truth)
    ]


def window_figure(table: pd.DataFrame, subtitle: str, path: Path) -> None:
    """Draw AUC by window with intervals; the uncut bounds are a dashed line."""
    windows, uncut = table.iloc[:-1], table.iloc[-1]
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    errors = [windows["auc"] - windows["low"], windows["high"] - windows["auc"]]
    axes.errorbar(
        windows["window"], windows["auc"], yerr=errors, fmt="o-", capsize=3, color="#20508f"
    )
    axes.axhline(uncut["auc"], linestyle="--", color="#b0451f", label=f"{uncut['window']} bounds")
    axes.set(
        xlabel="points after the candidate (window size)",
        ylabel="AUC",
        title=f"How many results after a change are needed? ({subtitle})",
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    save(figure, path)
