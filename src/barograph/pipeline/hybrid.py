"""Stage `hybrid`: Tables 5 to 8 of Leznik et al. 2022 on the verdicts of this data set."""

from dataclasses import dataclass
from typing import Annotated

import pandas as pd

from barograph.learning.limits import Bounds, Count, Named, Seed
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import page_without_verdicts, run
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.results.history import History
from barograph.studies import leznik, statistics
from barograph.studies.detector_benchmark.report import formatted

FOLDER = report.FOLDER / "hybrid"
DETECTOR_TABLE = "table6_7_detector"
TITLES = {
    "table5_voting": "Table 5: the votes on all triaged points",
    DETECTOR_TABLE: "Tables 6 and 7: SETDS on all series with a verdict",
    "table8_rows": "Table 8: mean of the splits, 90/10 of the points",
    "table8_series": "Table 8: mean of the splits, 90/10 of the series",
}
CAPTIONS = {
    "table5_voting": "`voting` has the paper's thresholds and weights, `voting, fitted` the "
    "medians and shares of these points. `auc` is that of the weighted share of votes.",
    DETECTOR_TABLE: "The first columns count what SETDS found, by the verdict of the "
    "candidate; `not annotated` are points without a candidate. Brackets: 95 % intervals, "
    "bootstrap over series.",
    "table8_rows": "`max. improvement` is the hybrid minus the worse of the other two.",
    "table8_series": "As above, but no series is in both parts.",
}


@dataclass(frozen=True)
class HybridParams:
    """What the tables are of.

    Attributes:
        policy: The bounds of Pre.
        ranges: The ranges of the distance: `published`, or `own`, learned from these candidates.
        repetitions: The number of splits of Table 8.
        seed: Seed of the bootstrap intervals.
    """

    policy: Bounds = "adaptive"
    ranges: Annotated[str, Named(lambda: statistics.RANGES)] = statistics.PUBLISHED
    repetitions: Count = leznik.REPETITIONS
    seed: Seed = 1


@page_without_verdicts(FOLDER / "hybrid.md", "hybrid")
def main() -> None:
    """Run the stage."""
    params = parameters(HybridParams, "hybrid")
    history = History.read(INTERIM)
    rows = statistics.candidate_rows(history, pd.read_parquet(BOUNDS), params.policy, params.ranges)
    statistics.triaged(rows)  # checks that there are verdicts of both kinds
    tables = analyse(history, rows, params)
    for name, table in tables.items():
        report.write_csv(FOLDER / f"{name}.csv", table)
    report.write_text(FOLDER / "hybrid.md", page(tables, rows, params))
    last = tables["table8_series"].set_index("model")
    metrics = {name: last[name].dropna().to_dict() for name in leznik.Rates._fields}
    report.write_json(report.FOLDER / "hybrid.json", metrics)


def analyse(history: History, rows: pd.DataFrame, params: HybridParams) -> dict[str, pd.DataFrame]:
    """Return the tables by name."""
    points = leznik.of_rows(rows)
    tables = {
        "table5_voting": leznik.voting_table(points),
        DETECTOR_TABLE: leznik.detector_table(history, params.seed),
    }
    return tables | {
        f"table8_{protocol}": leznik.hybrid_table(points, protocol, params.repetitions)
        for protocol in leznik.PROTOCOLS
    }


def page(tables: dict[str, pd.DataFrame], rows: pd.DataFrame, params: HybridParams) -> str:
    """Return all tables as one page."""
    ranges = ", ".join(f"{name} {width:.4g}" for name, width in rows.attrs["ranges"].items())
    lines = [
        f"# The hybrid of Leznik et al. 2022, profile {profile_name()}",
        "",
        f"{len(rows)} triaged points, bounds `{params.policy}`, After of two points. The ranges of "
        f"the distance are {params.ranges}: {ranges}.",
        "",
        "A real change is the positive class. In the paper's Table 5, sensitivity and specificity "
        "are exchanged; its Table 7 lists predictive values under these names. Tables 6 and 7 "
        "match each point that SETDS finds with one candidate at most five points away. In Table "
        "8, SETDS has found every candidate at most five points from one of its points, and hybrid "
        "and votes learn from the other 90 %.",
    ]
    for name, title in TITLES.items():
        table = formatted(tables[name], 4) if name == DETECTOR_TABLE else tables[name]
        cells = report.markdown(report.formatted(table, 4))
        lines += ["", f"## {title}", "", cells, "", CAPTIONS[name]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    run(main)
