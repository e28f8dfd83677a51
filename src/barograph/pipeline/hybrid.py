"""Stage `hybrid`: Tables 5 to 8 of Leznik et al. 2022 on the verdicts of this data set."""

from dataclasses import dataclass

import pandas as pd

from barograph.learning.limits import Count
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import page_without_verdicts, run
from barograph.pipeline.statistics import StatisticsParams
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.results.history import History
from barograph.studies import leznik, statistics
from barograph.studies.detector_benchmark.report import formatted

FOLDER = report.FOLDER / "hybrid"
# The title and the caption of each table.
TABLES = {
    "table5_voting": (
        "Table 5: the votes on all triaged points",
        "`voting` has the paper's thresholds and weights, `voting, fitted` the medians and shares "
        "of these points. `auc` is that of the weighted share of votes.",
    ),
    "table6_7_detector": (
        "Tables 6 and 7: SETDS on all series with a verdict",
        "The first columns count what SETDS found, by the verdict of the candidate; `not "
        "annotated` are points without a candidate. Brackets: 95 % intervals, bootstrap over "
        "series.",
    ),
    "table8_rows": (
        "Table 8: mean of the splits, 90/10 of the points",
        "`max. improvement` is the hybrid minus the worse of the other two.",
    ),
    "table8_series": (
        "Table 8: mean of the splits, 90/10 of the series",
        "As above, but no series is in both parts.",
    ),
}
NOTE = (
    "A real change is the positive class. In the paper's Table 5, sensitivity and specificity are "
    "exchanged; its Table 7 lists predictive values under these names. Tables 6 and 7 match each "
    "point that SETDS finds with one candidate at most five points away. In Table 8, SETDS has "
    "found every candidate at most five points from one of its points, and hybrid and votes learn "
    "from the other 90 %."
)


@dataclass(frozen=True)
class HybridParams(StatisticsParams):
    """What the tables are of, and the number of splits of Table 8."""

    repetitions: Count = leznik.REPETITIONS


@page_without_verdicts(FOLDER / "hybrid.md", "hybrid")
def main() -> None:
    """Run the stage."""
    params = parameters(HybridParams, "hybrid")
    history = History.read(INTERIM)
    rows = statistics.candidate_rows(history, pd.read_parquet(BOUNDS), params.policy)
    statistics.triaged(rows)  # checks that there are verdicts of both kinds
    points = leznik.of_rows(rows)
    by_rows, by_series = (
        leznik.hybrid_table(points, protocol, params.repetitions) for protocol in leznik.PROTOCOLS
    )
    voting = leznik.rates_table(leznik.voting_rates(points))
    tables = voting, leznik.detector_table(history, params.seed), by_rows, by_series
    parts = [
        f"# The hybrid of Leznik et al. 2022, profile {profile_name()}",
        f"{len(rows)} triaged points, bounds `{params.policy}`, After of two points. The ranges of "
        "the distance are those of the paper.",
        NOTE,
    ]
    for (name, (title, caption)), table in zip(TABLES.items(), tables, strict=True):
        report.write_csv(FOLDER / f"{name}.csv", table)
        cells = report.formatted(formatted(table, 4) if "detector" in table else table, ".4f")
        parts += [f"## {title}", report.markdown(cells), caption]
    report.write_text(FOLDER / "hybrid.md", "\n\n".join(parts) + "\n")
    last = by_series.set_index("model")
    metrics = {name: last[name].dropna().to_dict() for name in leznik.Rates._fields}
    report.write_json(report.FOLDER / "hybrid.json", metrics)


if __name__ == "__main__":
    run(main)
