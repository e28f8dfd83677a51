"""Stage `windows`: Figure 2 of Bauer et al. 2022, AUC by the window that After may fill."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from barograph.evaluation.experiment import judged, repetition
from barograph.evaluation.figures import window_figure
from barograph.evaluation.metrics import interval
from barograph.evaluation.protocols import random_splits
from barograph.pipeline import report, tables
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.pipeline.work import each

FOLDER = report.FOLDER / "windows"
SIZES = range(11)


@dataclass(frozen=True)
class WindowsParams:
    """How the study is repeated."""

    feature_set: str
    classifier: str
    base: str
    repetitions: int
    trees: int
    goal: str
    seed: int


def study(params: WindowsParams) -> pd.DataFrame:
    """Return AUC with its interval for window sizes 0 to 10 and the uncut bounds."""
    rows = []
    policies = {str(w): f"{params.base}:w{w}" for w in SIZES} | {params.base: params.base}
    for window, policy in policies.items():
        data = tables.labelled(tables.read(policy), params.feature_set)
        splits = random_splits(data.truth.size, params.repetitions, params.seed)
        calls = [
            (data.matrix, data.truth, split, params, params.seed + number)
            for number, split in enumerate(splits)
            if judged(split, data.truth)
        ]
        found = interval([r["auc"] for r in each(_one, calls, f"window {window}")])
        rows.append({"window": window, "auc": found.mean, "low": found.low, "high": found.high})
    return pd.DataFrame(rows)


def _one(matrix: Any, truth: Any, split: Any, params: WindowsParams, seed: int) -> dict[str, float]:
    return repetition(
        params.classifier, matrix, truth, split, seed=seed, trees=params.trees, goal=params.goal
    )


def main() -> None:
    """Run the stage."""
    params = parameters(WindowsParams, "windows")
    table = study(params)
    report.write_csv(FOLDER / "windows.csv", table)
    best = int(table["auc"].to_numpy()[:-1].argmax())
    metrics = {
        "auc": dict(zip(table["window"], table["auc"], strict=True)),
        "best_window": best,
    }
    report.write_json(report.FOLDER / "windows.json", metrics)
    window_figure(table, f"profile {profile_name()}", FOLDER / "windows.png")


if __name__ == "__main__":
    run(main)
