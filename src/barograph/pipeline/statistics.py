"""Stage `statistics`: what tells confirmed change points from false ones, as tables.

Also for a table of one's own:

    python -m barograph.pipeline.statistics --rows points.csv --out folder
"""

import json
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import click
import pandas as pd

from barograph.errors import BarographError, DataError
from barograph.evaluation import statistics
from barograph.evaluation.statistics_page import page
from barograph.files import whole


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


def write(tables: dict[str, pd.DataFrame], folder: Path) -> None:
    """Write one CSV per table, all of them as JSON, and the page."""
    for name, table in tables.items():
        with whole(folder / f"{name}.csv") as draft:
            table.to_csv(draft, index=False)
    with whole(folder / "statistics.json") as draft:
        document = {name: records(table) for name, table in tables.items()}
        draft.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    with whole(folder / "statistics.md") as draft:
        draft.write_text(page(tables), encoding="utf-8")


def records(table: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return the rows of a table for JSON, which has no NaN."""
    return table.astype(object).where(table.notna(), None).to_dict(orient="records")


@click.command(
    epilog="Example: python -m barograph.pipeline.statistics --rows points.csv --out folder"
)
@click.option(
    "--rows",
    type=click.Path(path_type=Path),
    required=True,
    help="CSV or Parquet with delta_*, distance, verdict or label, and project or file.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="The folder to write to."
)
@click.option("--seed", default=0, show_default=True, help="Of the sample for Shapiro-Wilk.")
def main(rows: Path, out: Path, seed: int) -> None:
    """Compare the features of confirmed and of false change points."""
    try:
        tables = analyse(read_rows(rows), seed)
    except BarographError as error:
        raise click.ClickException(str(error)) from error
    write(tables, out)
    click.echo(f"{out / 'statistics.md'}")


if __name__ == "__main__":
    main()
