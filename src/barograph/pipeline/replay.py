"""Stage `replay`: the online detector over every commit (Bauer et al. 2022, 4.2)."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from barograph.detection.online import replay
from barograph.errors import NotEnoughDataError
from barograph.history import History
from barograph.models.triage import TriageModel
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters
from barograph.pipeline.stage import run
from barograph.pipeline.train import FOLDER as MODELS
from barograph.pipeline.work import each
from barograph.series import Floats, Ints, Verdict

FOLDER = report.FOLDER / "replay"
CHUNK = 500  # series a call: small enough to spread, large enough to be worth a process


@dataclass(frozen=True)
class ReplayParams:
    """Which series are left out."""

    shortest: int


def replay_all(model: TriageModel, history: History, shortest: int) -> pd.DataFrame:
    """Return every point with its probability and whether the detector stopped at it."""
    numbers = np.arange(len(history))
    chunks = [numbers[first : first + CHUNK] for first in range(0, numbers.size, CHUNK)]
    calls = [(model, [history.values_of(k) for k in chunk], shortest) for chunk in chunks]
    judged = [one for chunk in each(_replayed, calls, "replay") for one in chunk]
    lengths = np.diff(history.offsets)
    return pd.DataFrame(
        {
            "series": np.repeat(numbers, lengths),
            "index": np.arange(history.orders.size) - np.repeat(history.offsets[:-1], lengths),
            "order": history.orders,
            "commit": history.commits.to_pandas(),
            "probability": np.concatenate([probability for probability, _ in judged]),
            "found": np.concatenate([found for _, found in judged]),
        }
    )


def _replayed(model: TriageModel, series: list[Floats], shortest: int) -> list[tuple[Any, Any]]:
    return [_one(model, values, shortest) for values in series]


def _one(model: TriageModel, values: Floats, shortest: int) -> tuple[Floats, Any]:
    found = np.zeros(values.size, dtype=bool)
    if values.size < shortest:
        return np.zeros(values.size), found
    replayed = replay(model, values)
    found[replayed.alarms] = True
    return replayed.probability, found


def confusion(history: History, points: pd.DataFrame) -> dict[str, Any]:
    """Hold the found points against the verdicts, at the exact index."""
    candidates = history.candidates
    rows = history.offsets[candidates.column("series").to_numpy()]
    rows = rows + candidates.column("index").to_numpy()
    verdicts = np.array(candidates.column("verdict").to_pylist(), dtype=object)
    found = points["found"].to_numpy()
    final = np.isin(verdicts, [v.value for v in Verdict if v.is_final])
    truth: Ints = (verdicts[final] == Verdict.TRUE_POSITIVE.value).astype(np.int64)
    if np.unique(truth).size < 2:
        raise NotEnoughDataError("the verdicts hold one class only: the replay cannot be judged")
    hit = found[rows[final]]
    classes = Counter(verdicts[found[rows]].tolist())
    return {
        "points": len(points),
        "found": int(found.sum()),
        "alarms_per_thousand": float(1000 * found.mean()),
        "alarms_per_series": float(found.sum() / len(history)),
        "found_by_verdict": {v.value: classes[v.value] for v in Verdict},
        "found_without_candidate": int(found.sum()) - sum(classes.values()),
        "auc": float(roc_auc_score(truth, points["probability"].to_numpy()[rows[final]])),
        "accuracy": float((hit == truth).mean()),
        "sensitivity": float(hit[truth == 1].mean()),
        "specificity": float(1 - hit[truth == 0].mean()),
    }


def main() -> None:
    """Run the stage."""
    params = parameters(ReplayParams, "replay")
    history = History.read(INTERIM)
    points = replay_all(TriageModel.load(MODELS / "online.baro"), history, params.shortest)
    found = points[points["found"]].drop(columns="found")
    report.write_csv(FOLDER / "found.csv", found)
    report.write_parquet(FOLDER / "found.parquet", found)
    report.write_json(report.FOLDER / "replay.json", confusion(history, points))


if __name__ == "__main__":
    run(main)
