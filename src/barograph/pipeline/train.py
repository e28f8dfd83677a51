"""Stage `train`: one model for each use, learned from every verdict.

Each model has a twin that is learned without the held-out series and commits. The twin chooses the
calibration and the threshold on validation rows and is judged on the held-out ones; `release`
compares it with the twin of the model in service.

The two online models learn from every point of whole histories, if their feature sets are `online`
and `confirm`; all others from the candidates alone.
"""

from pathlib import Path

from matplotlib.figure import Figure
from sklearn.metrics import roc_curve

from barograph.learning.candidates import Trained, TrainParams, read_prior
from barograph.learning.challengers import train_all
from barograph.learning.shares import calibration_bins
from barograph.learning.tables import read_for
from barograph.learning.tracking import record_run
from barograph.models.triage import FILES, TABLES, file_of, save_models
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name, run
from barograph.pipeline.tune import TABLE, chosen_for
from barograph.results.history import History
from barograph.results.series import Floats, Ints

FOLDER = Path("data/models")
TWINS = FOLDER / "judged"
FIGURES = report.FOLDER / "train"


def record(use: str, trained: Trained) -> None:
    """Draw what the twin says of the held-out rows, and log the run."""
    picture = FIGURES / f"{use}.png"
    if trained.truth.size:
        held_out_figure(trained.truth, trained.probability, use, picture)
    else:
        report.note_figure(f"{use}: no held-out verdicts", picture)
    model = trained.model
    named = {"use": use, "feature_set": model.feature_set, "data_hash": model.data_hash}
    facts = {k: v for k, v in model.card.items() if k not in TABLES} | named
    # What was tried before the settings were chosen, if anything was.
    files = [picture, *filter(Path.is_file, [TABLE]), FOLDER / file_of(use)]
    record_run(f"train {use}", facts, model.metrics, files)


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


def main() -> None:
    """Run the stage."""
    params = parameters(TrainParams, "train")
    history, profile = History.read(INTERIM), profile_name()
    results = dict(train_all(params, history, read_for, read_prior, chosen_for, profile))
    for name, uses in FILES.items():
        save_models(FOLDER / f"{name}.baro", [results[use].model for use in uses])
        save_models(TWINS / f"{name}.baro", [results[use].twin for use in uses])
    for use, trained in results.items():
        record(use, trained)
    metrics = {use: dict(trained.model.metrics) for use, trained in results.items()}
    report.write_json(report.FOLDER / "train.json", metrics)


if __name__ == "__main__":
    run(main)
