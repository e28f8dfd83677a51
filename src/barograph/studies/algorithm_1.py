"""Stage `algorithm_1`: Algorithm 1 of Bauer et al. 2022 beside the default online detector.

Learns the paper's forest on window 0, replays every commit with Pre from the last change point
found, and compares it with the stage `replay`. The model file can be used by
`OnlineDetector.algorithm_1` and `barograph replay --model`.
"""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from barograph.features import FEATURE_SETS
from barograph.learning import tables
from barograph.models import OnlineModels, TriageModel
from barograph.models.artifact import versions
from barograph.models.classifiers import random_forest
from barograph.models.kinds import from_fitted
from barograph.pipeline import report
from barograph.pipeline.params import page_without_verdicts, parameters, profile_name, run
from barograph.pipeline.replay import METRICS, ReplayParams, write_replay
from barograph.results.series import Verdict

FOLDER = report.FOLDER / "algorithm_1"
POLICY = "adaptive:w0"  # Pre from the last confirmed point, After the point alone (3.4)
FEATURE_SET = "bauer8"
MAJORITY = 0.5
RATES = ("auc", "accuracy", "sensitivity", "specificity")
VERDICTS = (Verdict.TRUE_POSITIVE, Verdict.FALSE_POSITIVE)
# Bauer et al. 2022, 4.2: 775,541 change points in 21,913,750 points, and the verdicts on 5,304 of
# 6,990 true and 729 of 8,341 false positives. Sensitivity and specificity follow from these.
PAPER: Mapping[str, Any] = {
    "alarms_per_thousand": 775_541 / 21_913.750,
    "found_by_verdict": {VERDICTS[0].value: 5304, VERDICTS[1].value: 729},
    "auc": 0.920,
    "accuracy": 0.843,
    "sensitivity": 5304 / 6990,
    "specificity": 1 - 729 / 8341,
}
PAPER_NAME = "the paper, on MongoDB's data"
NOTE = """\
Counts and rates are at the exact index. The forest, and default models that were trained on
these verdicts, are compared with what they learned from, as in the paper: their rates on new
candidates are lower. `at once` and `within 5`: the shares of true changes with an alarm at
their first point, or at most five points later. After an alarm, Pre of Algorithm 1 is a
single point; a forest that learned from few such points can call every later one a change."""


@page_without_verdicts(FOLDER / "methods.md", "algorithm_1")
def main() -> None:
    """Run the stage."""
    params = parameters(ReplayParams, "replay")
    forest = learn_forest(trees=params.trees, seed=params.seed)
    forest.save(FOLDER / "algorithm_1.baro")
    metrics = write_replay(FOLDER, OnlineModels(forest), params.min_points)
    default = json.loads(METRICS.read_text(encoding="utf-8"))
    replays = {"default": default, "Algorithm 1": metrics}
    table = methods_table(replays)
    report.write_csv(FOLDER / "methods.csv", table)
    title = f"Replay of every commit (Bauer et al. 2022, 4.2), profile {profile_name()}"
    report.write_page(FOLDER / "methods.md", title, report.formatted(table, ".3f"), NOTE)
    report.write_json(report.FOLDER / "algorithm_1.json", metrics)


def learn_forest(*, trees: int, seed: int) -> TriageModel:
    """Return the forest over the paper's characteristics; the majority of its trees decides.

    It learns from the feature table of POLICY, and judges the newest point alone.

    Args:
        trees: Number of trees.
        seed: Seed of the forest.

    Raises:
        NotEnoughDataError: The verdicts are all of one class.
        DataError: The table is missing, or has other features.
    """
    rows = tables.labelled(tables.read(POLICY), FEATURE_SET)
    forest = random_forest(seed, trees).fit(rows.matrix, rows.truth)
    card = {
        "classifier": "random_forest",
        "trees": trees,
        "seed": seed,
        "rows": int(rows.truth.size),
        "share_true": float(rows.truth.mean()),
        "limits": "Learned from candidates only, with the confirmed points in between known. A "
        "replay knows only the points that it found.",
    }
    return TriageModel(
        use="online",
        feature_set=FEATURE_SET,
        columns=FEATURE_SETS[FEATURE_SET],
        threshold=MAJORITY,
        classifier=from_fitted(forest),
        card=card,
        versions=versions(),
        data_hash=rows.data_hash,
    )


def methods_table(replays: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return one row for each replay, and the paper's.

    Args:
        replays: The metrics of each replay by its name; without verdicts there are no rates.
    """
    rows = []
    for name, metrics in [*replays.items(), (PAPER_NAME, PAPER)]:
        counts = metrics.get("found_by_verdict", {})
        delay = metrics.get("delay", {})
        row = {"detector": name, "alarms per 1,000": metrics["alarms_per_thousand"]}
        row |= {f"found {verdict.value}": counts.get(verdict.value) for verdict in VERDICTS}
        row |= {rate: metrics.get(rate) for rate in RATES}
        row["at once"] = delay.get("share_within_0")
        row["within 5"] = delay.get("share_within_5")
        rows.append(row)
    return pd.DataFrame(rows).astype({f"found {verdict.value}": "Int64" for verdict in VERDICTS})


if __name__ == "__main__":
    run(main)
