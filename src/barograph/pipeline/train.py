"""Stage `train`: several models for each use, learned from every verdict, and the best of them.

Each model has a twin that is learned without the held-out series and commits. The twin chooses the
calibration and the threshold on validation rows and is judged on the held-out ones; `release`
compares it with the twin of the model in service. The model of a use is chosen by the AUC on
the validation rows; all are saved, because `release.classifier` may name another one.

The two online models learn from every point of whole histories, if their feature sets are `online`
and `confirm`; all others from the candidates alone.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from sklearn.metrics import roc_curve

from barograph.learning.candidates import Trained, TrainParams, read_prior
from barograph.learning.challengers import train_all
from barograph.learning.choice import Choice, Models, choose
from barograph.learning.shares import calibration_bins
from barograph.learning.tables import read_for
from barograph.learning.tracking import Run
from barograph.models.triage import FILES, save_models
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name, run
from barograph.pipeline.tune import chosen_for
from barograph.results.history import History
from barograph.results.series import Floats, Ints

FOLDER = Path("data/models")
TWINS = FOLDER / "judged"
FIGURES = report.FOLDER / "train"
# The columns of the table of models, and what they show.
ESTIMATES = {"validation AUC": "validation", "below the highest": "behind", "held-out AUC": "test"}
PAGE = (
    "Models of each use, learned from the same verdicts. Of those within one standard error of the "
    "highest AUC on the validation rows, the first in `train.classifiers` is chosen; no model has "
    "learned from these rows. The held-out rows share no series and no commit with any other row. "
    "They have no part in the choice, and `release` compares the chosen model with the champion "
    "there. In brackets: 90 % intervals, bootstrap over series. To release another model, name it "
    "in params.yaml as `release.classifier`."
)


def save(choices: Mapping[str, Choice], classifiers: Sequence[str]) -> None:
    """Save the chosen model of every use, and all models by their learners."""
    _save(Path(), {use: choice.chosen for use, choice in choices.items()})
    for name in classifiers:
        models = {use: c.models[name] for use, c in choices.items() if name in c.models}
        _save(Path(name), models)


def _save(folder: Path, models: Models) -> None:
    """Save the models of each file that there is a model for every use of."""
    for name, uses in FILES.items():
        if models.keys() >= set(uses):
            save_models(FOLDER / folder / f"{name}.baro", [models[use].model for use in uses])
            save_models(TWINS / folder / f"{name}.baro", [models[use].twin for use in uses])


def table_of(choices: Mapping[str, Choice]) -> pd.DataFrame:
    """Return a row for each of several models of a use, the highest AUC first."""
    return pd.DataFrame(
        {"use": use, "model": row.name, "features": row.model.model.feature_set}
        | {title: getattr(row, name) for title, name in ESTIMATES.items()}
        | {name: row.model.model.metrics[name] for name in ("accuracy", "brier")}
        | {"chosen": "yes" if row.name == choice.name else ""}
        for use, choice in choices.items()
        for row in sorted(choice.standings, key=lambda row: row.behind.value)
    )


def for_programs(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with a name for each row, and the ends of intervals in columns."""
    if table.empty:
        return table
    table = table.assign(name=table["use"] + " " + table["model"])
    for title in ESTIMATES:
        estimates = pd.DataFrame(table[title].tolist(), index=table.index)
        table = table.assign(**{title: estimates["value"]})
        table = table.assign(**{f"{title} {end}": estimates[end] for end in ("low", "high")})
    return table


def for_people(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with intervals in brackets."""
    texts = {title: [estimate.text() for estimate in table[title]] for title in ESTIMATES}
    return table.assign(**texts).round(3)


def draw(use: str, trained: Trained) -> None:
    """Draw what the twin says of the held-out rows."""
    picture = FIGURES / f"{use}.png"
    if trained.test.truth.size:
        held_out_figure(trained.test.truth, trained.test.probability, use, picture)
    else:
        report.note_figure(f"{use}: no held-out verdicts", picture)


def held_out_figure(truth: Ints, probability: Floats, name: str, path: Path) -> None:
    """Draw the ROC curve and the calibration of a model on held-out rows.

    The calibration has a point for each bin with its 95 % interval and its number of rows.
    """
    figure = Figure(figsize=(8, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    false_alarms, true_alarms, _ = roc_curve(truth, probability)
    left.plot(false_alarms, true_alarms, color="#20508f")
    left.set(
        xlabel="share of noise called real", ylabel="share of real found", title=f"{name}: ROC"
    )
    bins = calibration_bins(truth, probability)
    for stated, share, low, high, rows in bins:
        right.plot([stated, stated], [low, high], color="#20508f", alpha=0.5)
        right.plot([stated], [share], "o", color="#20508f")
        right.annotate(str(rows), (stated, share), (4, 4), textcoords="offset points", fontsize=8)
    right.set(xlabel="probability", ylabel="share of real", title="calibration (number of rows)")
    for axes in (left, right):
        axes.plot([0, 1], [0, 1], linestyle="--", color="#999999")
        axes.grid(alpha=0.3)
    report.write_figure(figure, path)


def write_table(choices: Mapping[str, Choice], profile: str) -> None:
    """Write how the models of each use do, and why one of them is chosen."""
    table = table_of(choices)
    report.write_csv(FIGURES / "models.csv", for_programs(table))
    reasons = "\n".join(f"- {use}: {choice.why}." for use, choice in choices.items() if choice.why)
    parts = (PAGE, for_people(table), reasons) if reasons else ("Each use has one model.",)
    report.write_page(FIGURES / "models.md", f"Trained models, profile {profile}", *parts)


def main() -> Run:
    """Run the stage; return the models, and the metrics of those that were not chosen."""
    params = parameters(TrainParams, "train")
    history, profile = History.read(INTERIM), profile_name()
    learned = train_all(params, history, read_for, read_prior, chosen_for, profile)
    choices = {use: choose(models) for use, models in learned}
    save(choices, params.classifiers)
    for use, choice in choices.items():
        draw(use, choice.chosen)
    write_table(choices, profile)
    metrics = {use: dict(choice.chosen.model.metrics) for use, choice in choices.items()}
    report.write_json(report.FOLDER / "train.json", metrics)
    every = {use: {k: m.model.metrics for k, m in c.models.items()} for use, c in choices.items()}
    files = [str(path) for path in sorted(FOLDER.rglob("*.baro")) if TWINS not in path.parents]
    return Run("train", metrics=every, files=files)


if __name__ == "__main__":
    run(main)
