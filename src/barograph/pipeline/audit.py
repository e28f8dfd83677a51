"""Stage `audit`: verdicts that models trained without them contradict, to be looked at again."""

from dataclasses import dataclass
from functools import partial

import pandas as pd

from barograph.models.catalogue import classifier
from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.training import tables
from barograph.training.label_audit import Suspects, audit

FOLDER = report.FOLDER / "audit"
KEYS = ["candidate", "series", "index", "commit", "verdict"]


@dataclass(frozen=True)
class AuditParams:
    """Which models contradict, and how many verdicts the page lists."""

    policy: str
    feature_set: str
    classifier: str
    trees: int
    folds: int
    listed: int
    seed: int


def audited(params: AuditParams) -> tuple[pd.DataFrame, int]:
    """Return the suspects with what names them, the most suspect first; and of how many."""
    frame = tables.read(params.policy)
    rows = tables.labelled(frame, params.feature_set)
    make = partial(classifier, params.classifier, seed=params.seed, trees=params.trees)
    found = audit(make, rows.matrix, rows.truth, rows.series, seed=params.seed, folds=params.folds)
    return named(tables.triaged(frame), found), rows.truth.size


def named(triaged: pd.DataFrame, found: Suspects) -> pd.DataFrame:
    """Return the keys of the suspects with what the models say of them."""
    suspects = triaged[KEYS].iloc[found.rows].reset_index(drop=True)
    return suspects.assign(probability=found.probability, margin=found.margin)


def main() -> None:
    """Run the stage."""
    params = parameters(AuditParams, "audit")
    table, total = audited(params)
    report.write_csv(FOLDER / "suspects.csv", table)
    notes = [
        f"{len(table)} of {total} verdicts are contradicted by models that learned from other "
        f"series ({params.classifier} on {params.feature_set}, {params.folds} folds); the first "
        f"{params.listed} are shown. Probability: of a real change. Margin: how much surer of the "
        "other answer than of the verdict. People may still be right: look, then decide.",
    ]
    title = f"Verdicts to look at again, profile {profile_name()}"
    report.write_table(FOLDER / "suspects.md", title, table.head(params.listed).round(4), notes)
    report.write_json(
        report.FOLDER / "audit.json",
        {"verdicts": total, "suspects": len(table), "share": len(table) / total},
    )


if __name__ == "__main__":
    run(main)
