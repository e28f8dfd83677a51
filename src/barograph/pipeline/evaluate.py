"""Stage `evaluate`: Table 1 of Bauer et al. 2022, under three protocols side by side."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from barograph.evaluation.experiment import judged, repetition
from barograph.evaluation.metrics import METRICS, Interval, summary
from barograph.evaluation.protocols import (
    PROTOCOLS,
    Split,
    forward_splits,
    grouped_splits,
    random_splits,
)
from barograph.pipeline import report, tables
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.pipeline.work import each

FOLDER = report.FOLDER / "evaluate"
# Bauer et al. 2022, Table 1: MongoDB's own verdicts, random splits, adaptive bounds.
PAPER = {
    "random_forest": {"auc": 98.50, "accuracy": 94.34, "sensitivity": 94.40, "specificity": 94.29},
    "svm": {"auc": 94.54, "accuracy": 89.03, "sensitivity": 87.36, "specificity": 90.44},
    "xgboost": {"auc": 94.60, "accuracy": 88.38, "sensitivity": 86.77, "specificity": 89.74},
}


@dataclass(frozen=True)
class EvaluateParams:
    """What the experiment varies and how often it is repeated."""

    feature_set: str
    policies: tuple[str, ...]
    classifiers: tuple[str, ...]
    repetitions: int
    trees: int
    goal: str
    seed: int


def splits(rows: tables.Labelled, protocol: str, params: EvaluateParams) -> list[Split]:
    """Return the splits of a protocol that hold both classes where it matters."""
    drawn = {
        "random": lambda: random_splits(rows.truth.size, params.repetitions, params.seed),
        "grouped": lambda: grouped_splits(
            rows.series, rows.commits, params.repetitions, params.seed
        ),
        "forward": lambda: forward_splits(rows.decided, params.seed),
    }[protocol]()
    return [split for split in drawn if judged(split, rows.truth)]


def evaluate(params: EvaluateParams) -> list[dict[str, Any]]:
    """Return one row for every policy, protocol and classifier, with an interval a metric."""
    rows = []
    for policy in params.policies:
        data = tables.labelled(tables.read(policy), params.feature_set)
        for protocol in PROTOCOLS:
            parts = splits(data, protocol, params)
            for name in params.classifiers:
                found = _repeated(name, data, parts, params, f"{policy} {protocol} {name}")
                rows.append(
                    {"policy": policy, "protocol": protocol, "classifier": name}
                    | {"repetitions": len(parts)}
                    | dict(found)
                )
    return rows


def _repeated(
    name: str, data: tables.Labelled, parts: list[Split], params: EvaluateParams, label: str
) -> dict[str, Interval]:
    calls = [
        (name, data.matrix, data.truth, split, params.seed + number, params.trees, params.goal)
        for number, split in enumerate(parts)
    ]
    return summary(list(each(_one, calls, label)))


def _one(
    name: str, matrix: Any, truth: Any, split: Split, seed: int, trees: int, goal: str
) -> dict[str, float]:
    return repetition(name, matrix, truth, split, seed=seed, trees=trees, goal=goal)


def printed(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Render the intervals in per cent as the paper prints them, with its figures beside."""
    table = []
    for row in rows:
        cells = {key: row[key] for key in ("policy", "protocol", "classifier", "repetitions")}
        for metric in METRICS:
            mean, low, high = (100 * value for value in row[metric])
            cells[metric] = f"{mean:.2f} [{low:.2f}; {high:.2f}]" if row["repetitions"] else "-"
        published = PAPER.get(row["classifier"], {}) if row["protocol"] == "random" else {}
        cells["paper: auc"] = f"{published['auc']:.2f}" if published else "-"
        cells["paper: accuracy"] = f"{published['accuracy']:.2f}" if published else "-"
        table.append(cells)
    return pd.DataFrame(table)


def main() -> None:
    """Run the stage."""
    params = parameters(EvaluateParams, "evaluate")
    rows = evaluate(params)
    flat = [
        {key: row[key] for key in ("policy", "protocol", "classifier", "repetitions")}
        | {
            f"{m}{end}": v
            for m in METRICS
            for end, v in zip(("", "_low", "_high"), row[m], strict=True)
        }
        for row in rows
    ]
    report.write_csv(FOLDER / "table.csv", pd.DataFrame(flat))
    metrics = {
        f"{row['policy']}.{row['protocol']}.{row['classifier']}": {m: row[m].mean for m in METRICS}
        for row in rows
        if row["repetitions"]
    }
    report.write_json(report.FOLDER / "evaluate.json", metrics)
    notes = [
        f"Profile `{profile_name()}`: {params.feature_set}, {params.trees} trees, "
        f"{params.repetitions} repetitions, thresholds chosen on validation for {params.goal}.",
        "In per cent, mean with 95 % confidence interval. The paper's figures are for MongoDB's "
        "data under the random protocol, which leaks: read the other two for what to expect.",
    ]
    title = f"Classification of candidates (Bauer et al. 2022, Table 1), profile {profile_name()}"
    report.write_table(FOLDER / "table.md", title, printed(rows), notes)


if __name__ == "__main__":
    run(main)
