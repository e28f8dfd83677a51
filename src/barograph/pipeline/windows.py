"""Stage `windows`: Figure 2 of Bauer et al. 2022, AUC by the window that After may fill."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from barograph.features.subseries import WIDEST
from barograph.learning import tables
from barograph.learning.limits import Bounds, Classifier, Count, FeatureSet, Goal, Seed
from barograph.learning.protocols import is_usable, random_splits
from barograph.pipeline import report
from barograph.pipeline.evaluate import calls_of, summaries
from barograph.pipeline.params import parameters, profile_name, run
from barograph.runtime.errors import NotEnoughDataError

FOLDER = report.FOLDER / "windows"


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
    groups = []
    for policy in policies.values():
        rows = tables.labelled(tables.read(policy), params.feature_set)
        splits = random_splits(rows.truth.size, params.repetitions, params.seed)
        usable = [s for s in enumerate(splits, params.seed) if is_usable(s[1], rows.truth)]
        groups.append(calls_of(params.classifier, rows, usable, params.trees, params.goal))
    intervals = [found["auc"] for found in summaries(groups, "windows")]
    table = pd.DataFrame(intervals, columns=["auc", "low", "high"])
    table.insert(0, "window", list(policies))
    return table


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
    report.write_figure(figure, path)


def main() -> None:
    """Run the stage; without verdicts of both kinds the table is empty, and the figure says why."""
    try:
        table = auc_by_window(parameters(WindowsParams, "windows"))
    except NotEnoughDataError as error:
        report.write_csv(FOLDER / "windows.csv", pd.DataFrame(columns=["window", "auc"]))
        report.write_json(report.FOLDER / "windows.json", {})
        report.note_figure(f"No AUC by window: {error}", FOLDER / "windows.png")
        return
    report.write_csv(FOLDER / "windows.csv", table)
    metrics = {
        "auc": dict(zip(table["window"], table["auc"], strict=True)),
        "best_window": int(table["auc"].to_numpy()[:-1].argmax()),
    }
    report.write_json(report.FOLDER / "windows.json", metrics)
    window_figure(table, f"profile {profile_name()}", FOLDER / "windows.png")


if __name__ == "__main__":
    run(main)
