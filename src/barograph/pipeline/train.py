"""Stage `train`: one model for each use, learned from every verdict there is."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from barograph.errors import NotEnoughDataError
from barograph.evaluation.experiment import judged, real
from barograph.evaluation.metrics import scores
from barograph.evaluation.protocols import Split, grouped_splits
from barograph.models.catalogue import classifier
from barograph.models.kinds import flattened
from barograph.models.triage import TriageModel
from barograph.pipeline import report, tables
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.series import Floats, Ints

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
    first, held_out = _held_out(use, data, params)
    card = {
        "profile": profile_name(),
        "classifier": params.classifier,
        "feature_set": params.feature_set,
        "rows": int(data.truth.size),
        "share_true": float(data.truth.mean()),
        "protocol": "grouped by series and commit",
        "held_out": held_out,
    }
    flat = flattened(_fitted(params, data.matrix, data.truth))
    digest = data.digest.hex()
    return replace(first, flat=flat, card=card, metrics=held_out, data_hash=digest), held_out


def _fitted(params: TrainParams, matrix: Floats, truth: Ints) -> Any:
    return classifier(params.classifier, seed=params.seed, trees=params.trees).fit(matrix, truth)


def _held_out(
    use: str, data: tables.Labelled, params: TrainParams
) -> tuple[TriageModel, dict[str, float]]:
    """Calibrate and choose on validation, judge on test: both unseen by the fit before them."""
    drawn = grouped_splits(data.series, data.commits, DRAWS, params.seed)
    split = next((split for split in drawn if _usable(split, data.truth)), None)
    if split is None:
        raise NotEnoughDataError(
            f"{data.truth.size} triaged points of {np.unique(data.series).size} series and "
            f"{np.unique(data.commits).size} commits cannot be held out by series and commit"
        )
    fitted = _fitted(params, data.matrix[split.train], data.truth[split.train])
    model = TriageModel.of(
        fitted,
        use,
        params.feature_set,
        truth=data.truth[split.validation],
        score=real(fitted, data.matrix[split.validation]),
        goal=params.goal,
    )
    said = model.predict_proba(data.matrix[split.test])[:, 1]
    return model, scores(data.truth[split.test], said, model.threshold)


def _usable(split: Split, truth: Ints) -> bool:
    return judged(split, truth) and np.unique(truth[split.validation]).size == 2


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
