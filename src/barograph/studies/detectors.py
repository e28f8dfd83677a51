"""Stage `detectors`: all detectors side by side, on injected changes and on the verdicts."""

import math
from pathlib import Path

import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure

from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name, run
from barograph.results.history import History
from barograph.studies.detector_tables import ALL, BenchmarkSize, history_tables

# What each table shows; its name is that of the file.
TITLES = {
    "scores": "Scores by scenario",
    "margins": "F1 by margin of error",
    "points": "F1 by number of points",
    "repeats": "Repeated runs on the same series",
    "distribution": "Number of change points in repeated runs",
    "verdicts": "Reported points by the verdict of their candidate",
}
CAPTIONS = {
    "scores": "A change counts as found within 5 points; all scenarios together are the last rows. "
    '"Rand as printed" is the index that Fleming et al. 2023 call Rand, "Rand" the one of this '
    "name. A dash: nothing was reported.",
    "margins": "The columns are the largest distances, in points, at which a reported point counts "
    "as a change (Fleming et al. 2023, Figure 4).",
    "points": "The columns are numbers of points (Fleming et al. 2023, Figure 3).",
    "repeats": "The series on which a few other runs of the permutation test disagreed most. Each "
    "run of `permutation` has its own seed. `change points` is the mean number in all series, `sd` "
    "its standard deviation over the runs, `series with one answer` the share of the series in "
    "which all runs found the same points (Fleming et al. 2023, Table 1).",
    "distribution": "The share of the runs that found each number of change points, on the series "
    "of the table of repeated runs (Fleming et al. 2023, Table 2).",
    "verdicts": "How many reported points match a candidate of each verdict, at most 5 points away "
    "and each candidate once; `not annotated` match none (Leznik et al. 2022, Tables 6 and 7). "
    "Series without a decided candidate are left out.",
}
NOTES = (
    "Brackets: 95 % intervals, bootstrap over series. A series is named by its row in the table of "
    "series. The model of `Triaged` learned from simulated histories."
)
FOLDER = report.FOLDER / "detectors"


def comparison_figure(tables: dict[str, pd.DataFrame], subtitle: str, path: Path) -> None:
    """Draw F1 of every detector, by margin and by number of points, with 95 % intervals."""
    figure = Figure(figsize=(12, 5), layout="constrained")
    panels = {"margins": "margin (points)", "points": "points of the series"}
    for axes, (name, label) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        curves = tables[name].groupby("detector", sort=False)
        for number, (detector, rows) in enumerate(curves):
            colour, x = colormaps["tab20"](number % 20), rows["cases"].astype(int)
            axes.plot(x, rows["mean"], marker=".", color=colour, label=detector)
            axes.fill_between(x, rows["low"], rows["high"], color=colour, alpha=0.12, linewidth=0)
        axes.set(xlabel=label, ylabel="F1")
        axes.grid(alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
    figure.suptitle(
        f"F1 on injected changes, nine scenarios ({subtitle}); bands: 95 %, over series"
    )
    report.write_figure(figure, path)


def formatted(table: pd.DataFrame, digits: int = 3) -> pd.DataFrame:
    """Put each value and its interval into one cell, and comparable values side by side."""
    if "mean" in table:
        return _crossed(table, digits)
    cells = table.astype(object)
    for name in [column for column in table if f"{column}, low" in table]:
        bounds = [name, f"{name}, low", f"{name}, high"]
        cells[name] = [
            _cell(mean, low, high, digits)
            for mean, low, high in table[bounds].itertuples(index=False)
        ]
        cells = cells.drop(columns=bounds[1:])
    return report.formatted(cells, f".{digits}f")


def _crossed(table: pd.DataFrame, digits: int) -> pd.DataFrame:
    """Turn the cases of a single measure, or the measures, into columns."""
    rows, columns = ["cases", "detector"], "measure"
    if len(set(table["measure"])) == 1:
        rows, columns = ["detector"], "cases"
    wide: dict[tuple[str, ...], dict[str, str]] = {}
    for record in table.to_dict("records"):
        key = tuple(str(record[name]) for name in rows)
        cell = _cell(record["mean"], record["low"], record["high"], digits)
        wide.setdefault(key, {})[str(record[columns])] = cell
    return pd.DataFrame([dict(zip(rows, key, strict=True)) | row for key, row in wide.items()])


def _cell(mean: float, low: float, high: float, digits: int) -> str:
    if math.isnan(mean):
        return "-"
    return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def main() -> None:
    """Run the stage: write every table for programs and for people, and the figure."""
    tables = history_tables(History.read(INTERIM), parameters(BenchmarkSize, "detectors"))
    subtitle = f"profile {profile_name()}"
    for name, table in tables.items():
        report.write_csv(FOLDER / f"{name}.csv", table)
        title = f"{TITLES[name]} ({subtitle})"
        parts = formatted(table), CAPTIONS[name], NOTES
        report.write_page(FOLDER / f"{name}.md", title, *parts)
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
