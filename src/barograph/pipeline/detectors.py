"""Stage `detectors`: all detectors side by side, on injected changes and on the verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from barograph.learning.limits import WholeNumber
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import run
from barograph.results.history import History
from barograph.studies.detector_benchmark.report import (
    CAPTIONS,
    NOTES,
    TITLES,
    comparison_figure,
    formatted,
)
from barograph.studies.detector_benchmark.tables import ALL, BenchmarkSize, history_tables

FOLDER = report.FOLDER / "detectors"
# Times differ from run to run, so no file of a stage may hold them.
TIMED = ("seconds", "seconds, low", "seconds, high")


@dataclass(frozen=True)
class DetectorsParams(BenchmarkSize):
    """The size of the comparison, and the largest number of triaged series with verdicts."""

    triaged: WholeNumber = 200


def write(
    folder: Path, tables: Mapping[str, pd.DataFrame], subtitle: str, *, timed: bool = False
) -> None:
    """Write every table for programs and for people, and the figure."""
    for name, table in tables.items():
        shown = table if timed else table.drop(columns=[c for c in TIMED if c in table])
        report.write_csv(folder / f"{name}.csv", shown)
        notes = (CAPTIONS[name], "", NOTES)
        title = f"{TITLES[name]} ({subtitle})"
        report.write_table(folder / f"{name}.md", title, formatted(shown), notes)
    if "points" in tables:
        comparison_figure(dict(tables), subtitle, folder / "detectors.png")


def main() -> None:
    """Run the stage."""
    params = parameters(DetectorsParams, "detectors")
    tables = history_tables(History.read(INTERIM), params, params.triaged)
    write(FOLDER, tables, f"profile {profile_name()}")
    report.write_json(report.FOLDER / "detectors.json", metrics(tables))


def metrics(tables: Mapping[str, pd.DataFrame]) -> dict[str, dict[str, float]]:
    """Return F1 over all scenarios, and its interval, by detector."""
    scores = tables["scores"]
    rows = scores[(scores["cases"] == ALL) & (scores["measure"] == "F1")]
    return {
        row["detector"]: {"f1": row["mean"], "low": row["low"], "high": row["high"]}
        for row in rows.to_dict("records")
    }


if __name__ == "__main__":
    run(main)
