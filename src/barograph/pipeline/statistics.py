"""Stage `statistics`: how confirmed change points differ from false ones, as tables."""

from dataclasses import dataclass

import pandas as pd

from barograph.learning.limits import Bounds, Seed
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import page_without_verdicts, run
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.results.history import History
from barograph.studies import statistics

FOLDER = report.FOLDER / "statistics"
TITLES = {
    "normality": "Normality of the features (Shapiro-Wilk)",
    "table2_medians": "Table 2: medians, quartiles and variances of the features (rank-sum test)",
    "table3_projects": "Table 3: median distance by project (rank-sum test)",
    "table4_median_split": "Table 4: rows above and below the median (chi-square with Yates)",
}
NOTE = (
    "A delta is the absolute difference between a feature of Pre and of After, which is the "
    "candidate and the next point. w: the statistic of Shapiro-Wilk. q_value: the p-value adjusted "
    "over the projects (Benjamini and Hochberg). effect: the rank-biserial correlation with its "
    "95 % interval, which assumes independent rows; points of one series are not independent."
)


@dataclass(frozen=True)
class StatisticsParams:
    """What the tables are of.

    Attributes:
        policy: The policy of the bounds.
        seed: Seed of what is drawn: a sample for Shapiro-Wilk, or the bootstrap intervals.
    """

    policy: Bounds = "adaptive"
    seed: Seed = 1


@page_without_verdicts(FOLDER / "statistics.md")
def main() -> None:
    """Run the stage."""
    params = parameters(StatisticsParams, "statistics")
    bounds = pd.read_parquet(BOUNDS)
    rows = statistics.candidate_rows(History.read(INTERIM), bounds, params.policy)
    table = statistics.triaged(rows)
    tables = {"normality": statistics.normality(table, params.seed)}
    tables |= {name: build(table) for name, build in statistics.TABLES.items()}
    origin = f"Profile `{profile_name()}`, bounds `{params.policy}`."
    parts = ["# Statistics of the triaged points", f"{origin} {NOTE}"]
    contents = {}
    for name, frame in tables.items():
        report.write_csv(FOLDER / f"{name}.csv", frame)
        missing_as_null = frame.astype(object).where(frame.notna(), None)
        contents[name] = missing_as_null.to_dict(orient="records")
        parts += [f"## {TITLES[name]}", report.markdown(report.formatted(frame, ".3g"))]
    report.write_json(FOLDER / "statistics.json", contents)
    report.write_text(FOLDER / "statistics.md", "\n\n".join(parts) + "\n")


if __name__ == "__main__":
    run(main)
