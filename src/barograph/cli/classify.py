"""`barograph classify`: the candidates of a source, the surest first."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import click

from barograph.cli.spreading import (
    artifact_path,
    judged,
    judging_options,
    tables_at,
    write_tables,
)
from barograph.errors import NotEnoughDataError

USE = "label_free"


@click.command(epilog="Example: barograph classify dump --kind mongodump --output json")
@judging_options(USE)
@click.option("--all", "triaged", is_flag=True, help="Also those that have a verdict.")
@click.option("--first", type=click.IntRange(min=0), default=20, show_default=True, help="Shown.")
def command(
    location: str,
    kind: str,
    model: Path,
    triaged: bool,
    first: int,
    workers: int,
    scheduler: str | None,
    to: Path | None,
    output: str,
) -> None:
    """Say which candidates of the source at LOCATION people would call real.

    LOCATION may be a folder of the three tables, too. A scheduler's workers must see it.
    """
    from barograph.evaluation.partitions import classified
    from barograph.history import read_table
    from barograph.series import SeriesId

    with tables_at(kind, location) as folder:
        names = read_table(folder, "series").to_pylist()
        judge = partial(classified, triaged=triaged)
        path = artifact_path(USE, model)
        table = judged(judge, folder, path, USE, workers=workers, scheduler=scheduler)
    table = table.sort_by([("probability", "descending"), ("series", "ascending")])
    if to is not None:
        write_tables(table, to, "classified")
    if not table.num_rows:
        raise NotEnoughDataError(f"{location}: holds no candidate that waits for a verdict")
    rows = table.slice(0, first).to_pylist()
    for row in rows:
        row["name"] = str(SeriesId.from_row(names[row["series"]]))
    real = sum(table.column("real").to_pylist())
    if output == "json":
        click.echo(json.dumps({"candidates": table.num_rows, "real": real, "first": rows}))
        return
    for row in rows:
        click.echo(f"{row['probability']:.3f}  {row['commit'] or row['order']}  {row['name']}")
    click.echo(f"{real} of {table.num_rows} candidates are called real")
