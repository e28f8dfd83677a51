"""`barograph import`: fill the store from any source."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.histories import loaded_tables, output_option, source_options
from barograph.cli.looks import second_look_options
from barograph.cli.stores import (
    model_option,
    online_models,
    open_store,
    store_option,
    tell_rejected,
)

if TYPE_CHECKING:
    from barograph.detection.online import SecondLookConfig


@click.command(name="import", epilog="Example: barograph import dump --kind mongodump")
@source_options
@store_option
@model_option("online")
@second_look_options(on=True)
@output_option
@click.option(
    "--whole",
    is_flag=True,
    help="LOCATION is what `export` wrote: fill an empty store with all that the former one held.",
)
def command(
    location: str,
    kind: str,
    url: str,
    model: Path,
    again: SecondLookConfig | None,
    output: str,
    whole: bool,
) -> None:
    """Take every series, point and candidate at LOCATION into the store.

    What the store has already is passed over: the same again changes nothing.
    """
    from barograph.store.archive import restore
    from barograph.store.exchange import fill, gave

    if whole:
        with open_store(url) as store:
            counts = restore(store, location)
        told_rows = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        click.echo(json.dumps(counts) if output == "json" else told_rows or "nothing")
        return
    models = online_models(model)
    own = kind == "tabular" and gave(location)  # read in place, for a source knows no runs
    tables = nullcontext(location) if own else loaded_tables(kind, location)
    with tables as folder, open_store(url, models, again) as store:
        done = fill(store, folder, "import")
    tell_rejected(done)
    told = {"points": done.points, "reasons": done.reasons}
    told |= {"candidates": {"written": done.candidates, "had": done.already}}
    if output == "json":
        click.echo(json.dumps(told))
        return
    points = ", ".join(f"{count} {status}" for status, count in done.points.items())
    click.echo(f"points: {points}")
    click.echo(f"candidates: {done.candidates} written, {done.already} there already")
