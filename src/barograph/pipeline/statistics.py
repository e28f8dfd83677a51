"""Stage `statistics`: how confirmed change points differ from false ones, as tables."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

from barograph.learning.limits import Bounds, Named, Seed
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.stage import page_without_verdicts, run
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.results.history import History
from barograph.studies import statistics
from barograph.studies.statistics_page import NOTE, sections

FOLDER = report.FOLDER / "statistics"


@dataclass(frozen=True)
class StatisticsParams:
    """What the tables are of.

    Attributes:
        policy: The policy of the bounds.
        seed: Seed of the sample for Shapiro-Wilk.
        ranges: The ranges of the distance: `published` or `own`.
    """

    policy: Bounds = "adaptive"
    seed: Seed = 0
    ranges: Annotated[str, Named(lambda: statistics.RANGES)] = statistics.PUBLISHED


@page_without_verdicts(FOLDER / "statistics.md")
def main() -> None:
    """Run the stage."""
    params = parameters(StatisticsParams, "statistics")
    rows = statistics.candidate_rows(
        History.read(INTERIM), pd.read_parquet(BOUNDS), params.policy, params.ranges
    )
    table = statistics.triaged(rows)
    tables = {"normality": statistics.normality(table, params.seed)}
    tables |= {name: build(table) for name, build in statistics.TABLES.items()}
    for name, frame in tables.items():
        report.write_csv(FOLDER / f"{name}.csv", frame)
    contents = {name: records(frame) for name, frame in tables.items()}
    report.write_json(FOLDER / "statistics.json", contents)
    origin = f"Profile `{profile_name()}`, bounds `{params.policy}`."
    report.write_text(FOLDER / "statistics.md", page(tables, origin))


def page(tables: Mapping[str, pd.DataFrame], origin: str) -> str:
    """Return all tables as one Markdown page; `origin` describes the data."""
    parts = ["# Statistics of the triaged points", f"{origin} {NOTE}"]
    for title, cells in sections(tables):
        parts += [f"## {title}", report.markdown(cells)]
    return "\n\n".join(parts) + "\n"


def records(table: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return the rows of a table for JSON, with null for NaN."""
    return table.astype(object).where(table.notna(), None).to_dict(orient="records")


if __name__ == "__main__":
    run(main)
