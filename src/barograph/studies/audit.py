"""Stage `audit`: the verdicts that models trained without them contradict."""

from dataclasses import dataclass
from functools import partial

from barograph.learning import limits, tables
from barograph.learning.work_lists import held_out, margins, suspects
from barograph.models.catalogue import classifier
from barograph.pipeline import report
from barograph.pipeline.params import page_without_verdicts, parameters, profile_name, run
from barograph.results.series import FINAL

FOLDER = report.FOLDER / "audit"
KEYS = ["name", "candidate", "series", "index", "commit", "verdict"]


@dataclass(frozen=True)
class AuditParams:
    """Which models contradict, and how many verdicts the page lists.

    Attributes:
        policy: The policy of the bounds.
        feature_set: The feature set of the classifier.
        classifier: The name of the classifier in the catalogue.
        trees: Number of trees of every forest.
        folds: Number of folds of the cross-validation.
        listed: Number of verdicts that the page lists.
        seed: Seed of the folds and the classifier.
    """

    policy: limits.Bounds
    feature_set: limits.FeatureSet
    classifier: limits.Classifier
    trees: limits.Count
    folds: limits.Folds
    listed: limits.WholeNumber
    seed: limits.Seed


@page_without_verdicts(FOLDER / "suspects.md", "audit")
def main() -> None:
    """Run the stage."""
    params = parameters(AuditParams, "audit")
    frame = tables.read(params.policy)
    rows = tables.labelled(frame, params.feature_set)
    make = partial(classifier, params.classifier, seed=params.seed, trees=params.trees)
    probability = held_out(
        make, rows.matrix, rows.truth, rows.series, seed=params.seed, folds=params.folds
    )
    doubted = suspects(rows.truth, probability)
    keys = frame[frame["verdict"].isin(FINAL)][KEYS].iloc[doubted].reset_index(drop=True)
    margin = margins(rows.truth, probability)[doubted]
    table = keys.assign(probability=probability[doubted], margin=margin)
    total = rows.truth.size
    report.write_csv(FOLDER / "suspects.csv", table)
    note = (
        f"{len(table)} of {total} verdicts are contradicted by models that learned from other "
        f"series ({params.classifier} on {params.feature_set}, {params.folds} folds); the first "
        f"{params.listed} are shown. Probability: of a real change. Margin: the probability of the "
        "other answer less that of the verdict. People may still be right: look, then decide."
    )
    title = f"Verdicts to look at again, profile {profile_name()}"
    report.write_page(FOLDER / "suspects.md", title, table.head(params.listed).round(4), note)
    metrics = {"verdicts": total, "suspects": len(table), "share": len(table) / total}
    report.write_json(report.FOLDER / "audit.json", metrics)


if __name__ == "__main__":
    run(main)
