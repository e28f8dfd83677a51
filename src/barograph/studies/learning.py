"""The learning curve: AUC by the number of verdicts, with and without simulated ones."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from barograph.learning import tables
from barograph.learning.candidates import fit_with_prior, prior_weight, read_prior
from barograph.learning.comparison import auc
from barograph.learning.figures import save
from barograph.learning.limits import (
    Classifier,
    Count,
    FeatureSet,
    NotNegative,
    Seed,
    Use,
    WholeNumber,
)
from barograph.learning.metrics import interval
from barograph.learning.protocols import Split, grouped_splits, is_usable
from barograph.models.catalogue import classifier, real_probability
from barograph.runtime.errors import NotEnoughDataError
from barograph.runtime.parallel import map_parallel

ALONE, MIXED, SIMULATED = "own verdicts alone", "mixed with simulated ones", "simulated ones alone"
COLORS = ("#20508f", "#2e8b57", "#b0451f")


@dataclass(frozen=True)
class LearningParams:
    """Parameters of the stage `learning`.

    Attributes:
        use: The use of the model, which decides the feature table.
        feature_set: The feature set of the classifier.
        classifier: The name of the classifier in the catalogue.
        sizes: The numbers of verdicts.
        enough: From this number of verdicts on, no simulated rows are added.
        prior_weight: The weight of a simulated row without any verdict.
        repetitions: The number of splits.
        trees: The number of trees of every forest.
        seed: Seed of splits and classifiers.
    """

    use: Use
    feature_set: FeatureSet
    classifier: Classifier
    sizes: tuple[Count, ...]
    enough: WholeNumber
    prior_weight: NotNegative
    repetitions: Count
    trees: Count
    seed: Seed


def learning_curve(params: LearningParams) -> pd.DataFrame:
    """Return the mean AUC with its interval, one row per number of verdicts and way of training.

    Raises:
        NotEnoughDataError: No grouped split has enough verdicts of both kinds.
    """
    rows = tables.labelled(tables.read_for(params.use), params.feature_set)
    prior = read_prior(params.use, params.feature_set)
    drawn = grouped_splits(rows.series, rows.commits, params.repetitions, params.seed)
    splits = [split for split in drawn if is_usable(split, rows.truth)]
    if not splits:
        raise NotEnoughDataError(
            f"no grouped split of {rows.truth.size} verdicts has enough of both kinds"
        )
    calls = [(rows, prior, split, number, params) for number, split in enumerate(splits)]
    curves = map_parallel(_curve_of_split, calls, "learning")
    frame = pd.DataFrame([row for curve in curves for row in curve])
    table = []
    for (verdicts, way), scores in frame.groupby(["verdicts", "way"], sort=True)["auc"]:
        mean = interval(scores.tolist())
        table.append({"verdicts": verdicts, "way": way, **mean._asdict()})
    return pd.DataFrame(table).rename(columns={"mean": "auc"})


def _curve_of_split(
    rows: tables.Labelled, prior: tables.Labelled, split: Split, number: int, params: LearningParams
) -> list[dict[str, float | str | int]]:
    """Return the AUC of every way of training at every size, on one grouped split."""
    order = np.random.default_rng([params.seed, number]).permutation(split.train)
    curve: list[dict[str, float | str | int]] = []
    for size in (0, *params.sizes):
        part = order[:size]
        if part.size < size or (size and np.unique(rows.truth[part]).size < 2):
            continue
        weights = {SIMULATED: 1.0}
        if size:
            weights = {ALONE: 0.0, MIXED: prior_weight(size, params.prior_weight, params.enough)}
        for way, weight in weights.items():
            model = classifier(params.classifier, seed=params.seed, trees=params.trees)
            fit_with_prior(model, rows.matrix[part], rows.truth[part], prior, weight)
            score = auc(rows.truth[split.test], real_probability(model, rows.matrix[split.test]))
            curve.append({"verdicts": size, "way": way, "auc": score})
    return curve


def learning_figure(table: pd.DataFrame, subtitle: str, path: Path) -> None:
    """Draw AUC by the number of own verdicts, one line per way of training."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for (way, line), color in zip(table.groupby("way"), COLORS, strict=False):
        if len(line) == 1:
            axes.axhline(line["auc"].iloc[0], linestyle="--", color="#999999", label=way)
        else:
            axes.plot(line["verdicts"], line["auc"], "o-", color=color, label=way)
            axes.fill_between(line["verdicts"], line["low"], line["high"], color=color, alpha=0.15)
    axes.set(
        xscale="log",
        xlabel="own verdicts",
        ylabel="AUC",
        title=f"How many verdicts are needed? ({subtitle})",
    )
    sizes = sorted({*table["verdicts"]} - {0})
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    save(figure, path)
