"""Stage `learning`: how good a model gets with the number of verdicts, alone and mixed."""

from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import page_without_verdicts, run
from barograph.studies.learning import LearningParams, learning_curve, learning_figure

FOLDER = report.FOLDER / "learning"


@page_without_verdicts(FOLDER / "learning.md", "learning")
def main() -> None:
    """Run the stage."""
    params = parameters(LearningParams, "learning")
    table = learning_curve(params)
    report.write_csv(FOLDER / "learning.csv", table)
    notes = [
        "![the learning curve](learning.png)\n",
        f"AUC on grouped splits, {params.repetitions} repetitions, {params.classifier} on "
        f"{params.feature_set}. A simulated row weighs {params.prior_weight} if there is no "
        f"verdict, less with each, and nothing from {params.enough} verdicts on.",
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
