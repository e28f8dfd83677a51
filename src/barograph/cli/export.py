"""`barograph export`: give everything back."""

from __future__ import annotations

import json
from pathlib import Path

import click

from barograph.cli.histories import output_option
from barograph.cli.stores import open_existing, store_option


@click.command(epilog="Example: barograph export data/interim")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@store_option
@output_option
def command(folder: Path, url: str, output: str) -> None:
    """Write series, points and candidates to FOLDER, as the pipeline reads them.

    The folder `store` in it has every table of the store, for `barograph import --whole`.
    """
    from barograph.store.archive import archive
    from barograph.store.exchange import give_back

    # Both of one moment: what lands meanwhile is in neither.
    with open_existing(url) as store, store.read() as connection:
        counts = give_back(connection, folder)
        archive(connection, folder)
    if output == "json":
        click.echo(json.dumps(counts))
    else:
        click.echo(", ".join(f"{count} {name}" for name, count in counts.items()))
