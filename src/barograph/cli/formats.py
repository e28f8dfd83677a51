"""`barograph formats`: the file formats that commands read."""

from __future__ import annotations

import click

from barograph.cli.options import echo_json, format_option

KINDS = {"history": "Histories of many commits", "run": "Results of a single run"}


@click.command(epilog="Example: barograph formats --format json")
@format_option("text", "json")
def command(output: str) -> None:
    """List the file formats that commands read.

    The format of a file is recognised by its content; --kind NAME names it instead.
    """
    from barograph.sources.formats.registry import formats

    rows = [{"name": entry.name, "kind": entry.kind, "title": entry.title} for entry in formats()]
    if output == "json":
        echo_json({"formats": rows})
        return
    width = max(len(row["name"]) for row in rows)
    for kind, title in KINDS.items():
        click.echo(f"{title}:")
        for row in rows:
            if row["kind"] == kind:
                click.echo(f"  {row['name']:<{width}}  {row['title']}")
