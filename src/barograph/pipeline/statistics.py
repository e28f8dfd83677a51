"""Stage `statistics`: how confirmed change points differ from false ones, as tables.

Without options, the stage runs on the candidates of the data set. For another table:

    python -m barograph.pipeline.statistics --rows points.csv --out folder
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pandas as pd

from barograph.errors import BarographError, DataError, NotEnoughDataError
from barograph.history import History
from barograph.pipeline import report
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.subseries import OUT as BOUNDS
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

    policy: str = "adaptive"
    seed: int = 0
    ranges: str = statistics.PUBLISHED


def analyse(rows: pd.DataFrame, seed: int) -> dict[str, pd.DataFrame]:
    """Return the test for normality and the paper's three tables, by name."""
    table = statistics.triaged(rows)
    tables = {"normality": statistics.normality(table, seed)}
    return tables | {name: build(table) for name, build in statistics.TABLES.items()}


def read_rows(path: Path) -> pd.DataFrame:
    """Read a feature table, Parquet or CSV by its ending."""
    try:
        return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file") from error
    except (ValueError, OSError) as error:
        raise DataError(f"{path}: not a readable table: {error}") from error


def write(tables: dict[str, pd.DataFrame], folder: Path, origin: str) -> None:
    """Write every table as CSV, all of them as JSON, and a page."""
    for name, table in tables.items():
        report.write_csv(folder / f"{name}.csv", table)
    report.write_json(
        folder / "statistics.json", {name: records(table) for name, table in tables.items()}
    )
    report.write_text(folder / "statistics.md", page(tables, origin))


def page(tables: Mapping[str, pd.DataFrame], origin: str) -> str:
    """Return all tables as one Markdown page; `origin` describes the data."""
    parts = ["# Statistics of the triaged points", f"{origin} {NOTE}"]
    for title, cells in sections(tables):
        parts += [f"## {title}", report.markdown(cells)]
    return "\n\n".join(parts) + "\n"


def records(table: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return the rows of a table for JSON, with null for NaN."""
    return table.astype(object).where(table.notna(), None).to_dict(orient="records")


@click.command(
    epilog="Example: python -m barograph.pipeline.statistics --rows points.csv --out folder"
)
@click.option(
    "--rows",
    "path",
    type=click.Path(path_type=Path),
    help="CSV or Parquet with delta_*, distance, verdict or label, and project or file.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder to write to.")
@click.option("--seed", type=int, help="Seed of the sample for Shapiro-Wilk.  [default: 0]")
def main(path: Path | None, out: Path | None, seed: int | None) -> None:
    """Compare the features of confirmed and of false change points.

    Without --rows and --out, the candidates of the data set are compared, as set in params.yaml.
    """
    try:
        if path is not None and out is not None:
            write(analyse(read_rows(path), seed or 0), out, f"Rows of `{path.name}`.")
            click.echo(out / "statistics.md")
        elif path is None and out is None:
            params = parameters(StatisticsParams, "statistics")
            rows = statistics.candidate_rows(
                History.read(INTERIM), pd.read_parquet(BOUNDS), params.policy, params.ranges
            )
            try:
                tables = analyse(rows, params.seed if seed is None else seed)
            except NotEnoughDataError as error:
                report.write_missing(FOLDER / "statistics.md", error)
                return
            origin = f"Profile `{profile_name()}`, bounds `{params.policy}`."
            write(tables, FOLDER, origin)
        else:
            raise click.UsageError("--rows and --out belong together")
    except (BarographError, OSError) as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
