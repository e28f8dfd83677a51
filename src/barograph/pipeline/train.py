"""Stage `train`: one model for each use, learned from every verdict there is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from barograph.errors import NotEnoughDataError
from barograph.evaluation.experiment import judged, real
from barograph.evaluation.metrics import scores
from barograph.evaluation.protocols import grouped_splits
from barograph.features import FEATURE_SETS
from barograph.models.catalogue import classifier
from barograph.models.kinds import flattened
from barograph.models.threshold import choose
from barograph.models.triage import TriageModel
from barograph.pipeline import report, tables
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run

FOLDER = Path("data/models")
DRAWS = 20  # how often a split with both classes on both sides is looked for
# Which bounds each use sees: `online` judges the newest point alone, before any later result.
POLICY = {"adaptive": "adaptive", "label_free": "label_free", "online": "label_free:w0"}


@dataclass(frozen=True)
class TrainParams:
    """What is learned."""

    feature_set: str
    classifier: str
    trees: int
    goal: str
    seed: int


def train(use: str, params: TrainParams) -> tuple[TriageModel, dict[str, float]]:
    """Learn the model of one use, and its scores on series and commits it has not seen."""
    frame = tables.read(POLICY[use])
    data = tables.labelled(frame, params.feature_set)
    threshold, held_out = _held_out(data, params)
    model = classifier(params.classifier, seed=params.seed, trees=params.trees)
    model.fit(data.matrix, data.truth)
    card = {
        "profile": profile_name(),
        "classifier": params.classifier,
        "feature_set": params.feature_set,
        "rows": int(data.truth.size),
        "share_true": float(data.truth.mean()),
        "protocol": "grouped by series and commit",
        "held_out": held_out,
    }
    flat = flattened(model)
    names = FEATURE_SETS[params.feature_set]
    return TriageModel(use, params.feature_set, names, threshold, flat, card), held_out


def _held_out(data: tables.Labelled, params: TrainParams) -> tuple[float, dict[str, float]]:
    """Choose the threshold on validation and judge on test, both unseen by that fit."""
    drawn = grouped_splits(data.series, data.commits, DRAWS, params.seed)
    split = next((split for split in drawn if judged(split, data.truth)), None)
    if split is None:
        raise NotEnoughDataError(
            f"{data.truth.size} triaged points of {np.unique(data.series).size} series and "
            f"{np.unique(data.commits).size} commits cannot be held out by series and commit"
        )
    model = classifier(params.classifier, seed=params.seed, trees=params.trees)
    model.fit(data.matrix[split.train], data.truth[split.train])
    held = real(model, data.matrix[split.validation])
    threshold = choose(data.truth[split.validation], held, params.goal)
    return threshold, scores(
        data.truth[split.test], real(model, data.matrix[split.test]), threshold
    )


def main() -> None:
    """Run the stage."""
    params = parameters(TrainParams, "train")
    metrics: dict[str, Any] = {}
    for use in POLICY:
        model, metrics[use] = train(use, params)
        model.save(FOLDER / f"{use}.baro")
    report.write_json(report.FOLDER / "train.json", metrics)


if __name__ == "__main__":
    run(main)
