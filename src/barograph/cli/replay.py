"""`barograph replay`: the online detector over every commit of a source."""

from __future__ import annotations

import json
from pathlib import Path

import click

from barograph.cli.histories import output_option, source_options
from barograph.cli.spreading import (
    artifact_path,
    judged,
    spread_options,
    tables_at,
    write_tables,
)
from barograph.cli.stores import model_option
from barograph.errors import NotEnoughDataError

USE = "online"


@click.command(epilog="Example: barograph replay data/interim --to replayed --output json")
@source_options
@model_option(USE)
@spread_options
@output_option
def command(
    location: str,
    kind: str,
    model: Path,
    workers: int,
    scheduler: str | None,
    to: Path | None,
    output: str,
) -> None:
    """Judge every commit of the source at LOCATION as if it were the newest.

    LOCATION may be a folder of the three tables, too. A scheduler's workers must see it.
    """
    from barograph.evaluation.partitions import replayed

    with tables_at(kind, location) as folder:
        table = judged(
            replayed,
            folder,
            (artifact_path(USE, model), USE),
            workers=workers,
            scheduler=scheduler,
        )
    if not table.num_rows:
        raise NotEnoughDataError(f"{location}: holds no point")
    found = table.filter(table.column("found"))
    if to is not None:
        write_tables(found.drop_columns(["found"]), to, "found")
    told = {
        "points": table.num_rows,
        "found": found.num_rows,
        "alarms_per_thousand": 1000 * found.num_rows / table.num_rows,
    }
    if output == "json":
        click.echo(json.dumps(told))
        return
    click.echo(
        f"{told['found']} of {told['points']} points are called a change, "
        f"{told['alarms_per_thousand']:.2f} per thousand"
    )
