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
from barograph.learning.choice import ESTIMATES, VALIDATION, Choice, choose
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
PAGE_OF_ONE = "Each use has one model."
PAGE = (
    "Models of each use, learned from the same verdicts. Of those within one standard error of the "
    "highest AUC on the validation rows, the first in `train.classifiers` is chosen; no model has "
    "learned from these rows. The held-out rows share no series and no commit with any other row. "
    "They have no part in the choice, and `release` compares the chosen model with the champion "
    "there. In brackets: 90 % intervals, bootstrap over series. To release another model, name it "
    "in params.yaml as `release.classifier`."
)


def save(choices: Mapping[str, Choice], classifiers: Sequence[str]) -> None:
    """Save the chosen model of every use, and all models in folders by their learners."""
    for learner in ("", *classifiers):
        names = {use: learner or choice.name for use, choice in choices.items()}
        models = {u: choices[u].models[n] for u, n in names.items() if n in choices[u].models}
        for name, uses in FILES.items():
            if models.keys() >= set(uses):
                path = Path(learner, f"{name}.baro")
                save_models(FOLDER / path, [models[use].model for use in uses])
                save_models(TWINS / path, [models[use].twin for use in uses])


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
    table = pd.DataFrame(
        {"name": f"{use} {row['model']}", "use": use, **row}
        for use, choice in choices.items()
        for row in sorted(choice.table, key=lambda row: -row[VALIDATION])
    )
    report.write_csv(FIGURES / "models.csv", table)
    shown = table.drop(columns=["name"], errors="ignore")
    for title in ESTIMATES if len(table) else ():
        ends = zip(*(shown.pop(f"{title} {end}") for end in ("low", "high")), strict=True)
        cells = zip(shown[title], ends, strict=True)
        shown[title] = [f"{value:.3f} [{low:.3f}; {high:.3f}]" for value, (low, high) in cells]
    reasons = "\n".join(f"- {use}: {choice.why}." for use, choice in choices.items() if choice.why)
    parts = (PAGE, report.formatted(shown, ".3f"), reasons) if reasons else (PAGE_OF_ONE,)
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
