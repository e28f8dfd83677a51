"""`barograph import`: fill the store from any source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.histories import loaded_tables, output_option, source_options
from barograph.cli.looks import second_look_options
from barograph.cli.stores import model_of, model_option, open_store, store_option

if TYPE_CHECKING:
    from barograph.triage import SecondLookWanted


@click.command(name="import", epilog="Example: barograph import dump --kind mongodump")
@source_options
@store_option
@model_option("online")
@second_look_options("default")
@output_option
def command(
    location: str, kind: str, url: str, model: Path, again: SecondLookWanted | None, output: str
) -> None:
    """Take every series, point and candidate at LOCATION into the store.

    What the store has already is passed over: the same again changes nothing.
    """
    from barograph.triage.exchange import fill

    judge = model_of("online", model)
    with loaded_tables(kind, location) as folder, open_store(url, judge, again) as store:
        done = fill(store, folder, "import")
    told = {"points": done.points, "candidates": {"written": done.candidates, "had": done.already}}
    if output == "json":
        click.echo(json.dumps(told))
        return
    points = ", ".join(f"{count} {status}" for status, count in done.points.items())
    click.echo(f"points: {points}")
    click.echo(f"candidates: {done.candidates} written, {done.already} there already")
