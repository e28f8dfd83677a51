"""Stage `detectors`: all detectors side by side, on injected changes and on the verdicts."""

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


def main() -> None:
    """Run the stage: write every table for programs and for people, and the figure."""
    tables = history_tables(History.read(INTERIM), parameters(BenchmarkSize, "detectors"))
    subtitle = f"profile {profile_name()}"
    for name, table in tables.items():
        report.write_csv(FOLDER / f"{name}.csv", table)
        notes = (CAPTIONS[name], "", NOTES)
        title = f"{TITLES[name]} ({subtitle})"
        report.write_table(FOLDER / f"{name}.md", title, formatted(table), notes)
    comparison_figure(tables, subtitle, FOLDER / "detectors.png")
    scores = tables["scores"]
    rows = scores[(scores["cases"] == ALL) & (scores["measure"] == "F1")]
    metrics = {
        row["detector"]: {"f1": row["mean"], "low": row["low"], "high": row["high"]}
        for row in rows.to_dict("records")
    }
    report.write_json(report.FOLDER / "detectors.json", metrics)


if __name__ == "__main__":
    run(main)
