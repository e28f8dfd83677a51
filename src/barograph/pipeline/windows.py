"""Stage `windows`: Figure 2 of Bauer et al. 2022, AUC by the window that After may fill."""

from dataclasses import dataclass

import pandas as pd

from barograph.evaluation.experiment import judged
from barograph.evaluation.figures import window_figure
from barograph.evaluation.metrics import interval
from barograph.evaluation.protocols import random_splits
from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.repeated import Repetition, repeated
from barograph.pipeline.stage import run
from barograph.training import tables

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
    policies = {str(w): f"{params.base}:w{w}" for w in SIZES} | {params.base: params.base}
    wanted = {window: _repetitions(policy, params) for window, policy in policies.items()}
    every = [one for repetitions in wanted.values() for one in repetitions]
    scores = iter(repeated(every, "windows"))
    rows = []
    for window, repetitions in wanted.items():
        found = interval([next(scores)["auc"] for _ in repetitions])
        rows.append({"window": window, "auc": found.mean, "low": found.low, "high": found.high})
    return pd.DataFrame(rows)


def _repetitions(policy: str, params: WindowsParams) -> list[Repetition]:
    rows = tables.labelled(tables.read(policy), params.feature_set)
    splits = random_splits(rows.truth.size, params.repetitions, params.seed)
    return [
        Repetition(params.classifier, rows, split, params.seed + k, params.trees, params.goal)
        for k, split in enumerate(splits)
        if judged(split, rows.truth)
    ]


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
