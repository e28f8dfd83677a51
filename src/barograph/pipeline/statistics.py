"""Stage `statistics`: what tells confirmed change points from false ones, as tables.

Without options it is the stage, on the candidates of the data set. Also for a table of one's own:

    python -m barograph.pipeline.statistics --rows points.csv --out folder
"""

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pandas as pd

from barograph.errors import BarographError, ConfigError, DataError
from barograph.files import whole
from barograph.history import History
from barograph.pipeline import report
from barograph.pipeline.characterise import characterise, keys_of
from barograph.pipeline.load import FOLDER as INTERIM
from barograph.pipeline.params import parameters, profile_name
from barograph.pipeline.subseries import OUT as BOUNDS
from barograph.series import FINAL
from barograph.studies import statistics
from barograph.studies.statistics_page import page

FOLDER = report.FOLDER / "statistics"
FEATURE_SET = "leznik"


@dataclass(frozen=True)
class StatisticsParams:
    """Which bounds the features see, and the seed of the sample for Shapiro-Wilk."""

    policy: str = "adaptive"
    seed: int = 0


def candidate_rows(policy: str) -> pd.DataFrame:
    """Return the deltas of the decided candidates under a policy, with project and verdict."""
    history = History.read(INTERIM)
    bounds = pd.read_parquet(BOUNDS)
    bounds = bounds[bounds["policy"] == policy]
    if bounds.empty:
        raise ConfigError(f"{BOUNDS} has no policy {policy!r}")
    keys = keys_of(history)
    final = keys["verdict"].isin(FINAL)
    bounds = bounds[final.to_numpy()[bounds["candidate"].to_numpy()]]
    rows = characterise(history, bounds, (FEATURE_SET,), keys)
    projects = history.series.column("project").to_pandas().to_numpy()
    return rows.assign(project=projects[rows["series"].to_numpy()])


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
    """Write one CSV per table, all of them as JSON, and the page that says of what they are."""
    for name, table in tables.items():
        report.write_csv(folder / f"{name}.csv", table)
    report.write_json(
        folder / "statistics.json", {name: records(table) for name, table in tables.items()}
    )
    with whole(folder / "statistics.md") as draft:
        draft.write_text(page(tables, origin), encoding="utf-8")


def records(table: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return the rows of a table for JSON, which has no NaN."""
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
@click.option("--out", type=click.Path(path_type=Path), help="The folder to write to.")
@click.option("--seed", type=int, help="Of the sample for Shapiro-Wilk.  [default: 0]")
def main(path: Path | None, out: Path | None, seed: int | None) -> None:
    """Compare the features of confirmed and of false change points.

    With neither --rows nor --out: those of the data set, as params.yaml says.
    """
    try:
        if path is not None and out is not None:
            write(analyse(read_rows(path), seed or 0), out, f"Rows of `{path.name}`.")
            click.echo(out / "statistics.md")
        elif path is None and out is None:
            params = parameters(StatisticsParams, "statistics")
            write(
                analyse(candidate_rows(params.policy), params.seed if seed is None else seed),
                FOLDER,
                f"Profile `{profile_name()}`, bounds `{params.policy}`.",
            )
        else:
            raise click.UsageError("--rows and --out belong together")
    except (BarographError, OSError) as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
