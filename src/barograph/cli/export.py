"""`barograph export`: write the contents of the store as tables."""

from __future__ import annotations

from pathlib import Path

import click

from barograph.cli.options import echo_json, format_option, open_existing, store_option


@click.command(epilog="Example: barograph export data/interim")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@store_option
@format_option("text", "json")
def command(folder: Path, url: str, output: str) -> None:
    """Write series, points and candidates to FOLDER, as the pipeline reads them.

    The subfolder `store` gets every table of the store, for `barograph import --restore`.
    """
    from barograph.store.archive import archive
    from barograph.store.exchange import export_tables

    # One read transaction: results that arrive meanwhile are in neither part.
    with open_existing(url) as store, store.read() as connection:
        counts = export_tables(connection, folder)
        archive(connection, folder)
    if output == "json":
        echo_json(counts)
    else:
        click.echo(", ".join(f"{count} {name}" for name, count in counts.items()))
