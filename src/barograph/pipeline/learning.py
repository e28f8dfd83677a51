"""Stage `learning`: how good a model gets with the number of verdicts, alone and mixed."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from barograph.errors import NotEnoughDataError
from barograph.evaluation.comparison import auc
from barograph.evaluation.experiment import judged, real
from barograph.evaluation.figures import learning_figure
from barograph.evaluation.metrics import interval
from barograph.evaluation.protocols import Split, grouped_splits
from barograph.models.catalogue import classifier
from barograph.parallel import map_parallel
from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.training import tables
from barograph.training.mixing import faded, fit_with_prior, read_prior

FOLDER = report.FOLDER / "learning"
WAYS = ("own verdicts alone", "mixed with simulated ones", "simulated ones alone")


@dataclass(frozen=True)
class LearningParams:
    """Which numbers of verdicts are tried, and what they are mixed with."""

    use: str
    feature_set: str
    classifier: str
    sizes: tuple[int, ...]
    enough: int
    prior_weight: float
    repetitions: int
    trees: int
    seed: int


def one(
    rows: tables.Labelled, prior: tables.Labelled, split: Split, number: int, params: LearningParams
) -> list[dict[str, float | str | int]]:
    """Return the AUC of every way at every size, on one grouped split."""
    order = np.random.default_rng([params.seed, number]).permutation(split.train)
    found: list[dict[str, float | str | int]] = []
    for size in (0, *params.sizes):
        part = order[:size]
        if part.size < size or (size and np.unique(rows.truth[part]).size < 2):
            continue
        weights = {WAYS[2]: 1.0} if not size else {WAYS[0]: 0.0}
        if size:
            weights[WAYS[1]] = faded(size, params.prior_weight, params.enough)
        for way, weight in weights.items():
            model = classifier(params.classifier, seed=params.seed, trees=params.trees)
            fit_with_prior(model, rows.matrix[part], rows.truth[part], prior, weight)
            score = auc(rows.truth[split.test], real(model, rows.matrix[split.test]))
            found.append({"verdicts": size, "way": way, "auc": score})
    return found


def learning(params: LearningParams) -> pd.DataFrame:
    """Return the mean AUC with its interval, a row a size and way."""
    rows = tables.labelled(tables.read_for(params.use), params.feature_set)
    prior = read_prior(params.use, params.feature_set)
    drawn = grouped_splits(rows.series, rows.commits, params.repetitions, params.seed)
    parts = [split for split in drawn if judged(split, rows.truth)]
    if not parts:
        raise NotEnoughDataError(f"{rows.truth.size} verdicts: no grouped split holds both classes")
    calls = [(rows, prior, split, number, params) for number, split in enumerate(parts)]
    results = map_parallel(one, calls, label="learning")
    frame = pd.DataFrame([line for lines in results for line in lines])
    table = []
    for (verdicts, way), scores in frame.groupby(["verdicts", "way"], sort=True)["auc"]:
        found = interval(scores.tolist())
        table.append({"verdicts": verdicts, "way": way, **found._asdict()})
    return pd.DataFrame(table).rename(columns={"mean": "auc"})


def main() -> None:
    """Run the stage."""
    params = parameters(LearningParams, "learning")
    table = learning(params)
    report.write_csv(FOLDER / "learning.csv", table)
    notes = [
        "![the learning curve](learning.png)\n",
        f"AUC on grouped splits, {params.repetitions} repetitions, {params.classifier} on "
        f"{params.feature_set}. Simulated rows weigh {params.prior_weight} beside no verdict, less "
        f"with each, and nothing from {params.enough} on.",
    ]
    learning_figure(table, f"profile {profile_name()}", FOLDER / "learning.png")
    title = f"Learning curve of the use {params.use}, profile {profile_name()}"
    report.write_table(FOLDER / "learning.md", title, table.round(4), notes)
    metrics: dict[str, dict[str, float]] = {}
    for way, verdicts, score in zip(table["way"], table["verdicts"], table["auc"], strict=True):
        metrics.setdefault(str(way), {})[str(verdicts)] = float(score)
    report.write_json(report.FOLDER / "learning.json", metrics)


if __name__ == "__main__":
    run(main)
