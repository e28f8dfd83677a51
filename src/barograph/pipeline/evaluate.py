"""Stage `evaluate`: Table 1 of Bauer et al. 2022, under three protocols side by side.

With the profile `paper` it takes hours.
"""

from barograph.pipeline import report
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import page_without_verdicts, run
from barograph.studies import table_one
from barograph.studies.table_one import EvaluateParams, evaluate

FOLDER = report.FOLDER / "evaluate"
FOOTNOTE_POLICY = "adaptive"  # the paper's bounds


def page(rows: list[table_one.Row], footnote: list[table_one.Row], params: EvaluateParams) -> str:
    """Render all tables, the one that fits on a screen first."""
    title = f"Classification of candidates (Bauer et al. 2022, Table 1), profile {profile_name()}"
    parts = [
        f"# {title}",
        f"In per cent: means of {params.repetitions} repetitions (forward: of its cuts), "
        f"{params.trees} trees, thresholds chosen on validation for {params.goal}. The paper's "
        "figures are for MongoDB's data under the random protocol, which leaks: points of one "
        "series or commit are near copies. Read the other two for what to expect. `grouped` holds "
        "out series and commits, `forward` tests on later verdicts than it learns from. The bounds "
        "of `adaptive` are confirmed change points, as in the paper, those of `label_free` the "
        "neighbouring candidates.",
        report.markdown(table_one.compact(rows)),
        "## Every metric, with 95 % confidence intervals",
        report.markdown(table_one.in_full(rows)),
    ]
    if footnote:
        parts += [
            "## Differences and relative changes instead of both sides (footnote 2)",
            report.markdown(table_one.compact(footnote)),
        ]
    return "\n\n".join(parts) + "\n"


@page_without_verdicts(FOLDER / "table.md", "evaluate")
def main() -> None:
    """Run the stage."""
    params = parameters(EvaluateParams, "evaluate")
    rows = evaluate(params, params.policies, params.feature_sets, "evaluate")
    footnote = evaluate(params, (FOOTNOTE_POLICY,), params.footnote, "evaluate, footnote")
    report.write_csv(FOLDER / "table.csv", table_one.flat([*rows, *footnote]))
    report.write_json(report.FOLDER / "evaluate.json", table_one.nested([*rows, *footnote]))
    report.write_text(FOLDER / "table.md", page(rows, footnote, params))


if __name__ == "__main__":
    run(main)
