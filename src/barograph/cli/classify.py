"""`barograph classify`: rank the candidates of a source by probability."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.bulk import artifact_path, bulk_options, score_parts
from barograph.cli.inputs import Inputs
from barograph.cli.options import echo_json
from barograph.errors import NotEnoughDataError

if TYPE_CHECKING:
    import pyarrow as pa

USE = "label_free"


@click.command(epilog="Example: barograph classify dump --kind mongodump --format json")
@bulk_options(USE, "scores candidates")
@click.option(
    "--all",
    "triaged",
    is_flag=True,
    help="Include candidates that already have a verdict. By default they are left out.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Maximum number of candidates to show.",
)
def command(
    inputs: Inputs,
    model: Path,
    triaged: bool,
    limit: int,
    workers: int,
    scheduler: str | None,
    out: Path | None,
    output: str,
) -> None:
    """Rank the candidates in FILE by how likely people would call them real.

    If FILE has no candidates, they are found as `detect` finds them, whatever their
    probability. FILE may also be a folder of the three tables. Workers of a scheduler must see
    it.
    """
    from barograph.detection.bulk import score_part
    from barograph.parquet import read_table
    from barograph.series import SeriesId

    with inputs.tables() as folder:
        series = read_table(folder, "series").to_pylist()
        proposed = not has_candidates(folder)
        classify = partial(score_part, triaged=triaged, proposed=proposed)
        path = artifact_path(USE, model)
        table = score_parts(classify, folder, path, USE, workers=workers, scheduler=scheduler)
    table = table.sort_by([("probability", "descending"), ("series", "ascending")])
    if out is not None:
        _write(table, out)
    if not table.num_rows:
        missing = "no change point" if proposed else "no candidate without a verdict"
        raise NotEnoughDataError(f"{inputs.name}: {missing}")
    rows = table.slice(0, limit).to_pylist()
    for row in rows:
        row["name"] = str(SeriesId.from_row(series[row["series"]]))
    real = sum(table.column("real").to_pylist())
    if output == "json":
        echo_json({"total": table.num_rows, "real": real, "candidates": rows})
        return
    for row in rows:
        click.echo(f"{row['probability']:.3f}  {row['commit'] or row['order']}  {row['name']}")
    click.echo(f"{real} of {table.num_rows} candidates are probably real")


def has_candidates(folder: str) -> bool:
    """Return whether the tables in a folder have any candidate."""
    import pyarrow.parquet as pq

    return bool(pq.read_metadata(Path(folder) / "candidates.parquet").num_rows)


def _write(table: pa.Table, folder: Path) -> None:
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    from barograph.files import whole

    with whole(folder / "classified.csv") as draft:
        pacsv.write_csv(table, str(draft))
    with whole(folder / "classified.parquet") as draft:
        pq.write_table(table, draft, compression="zstd")
