"""`barograph token`: who may use the service."""

from __future__ import annotations

import json

import click

from barograph.cli.histories import output_option
from barograph.cli.stores import open_existing, open_store, store_option

SCOPES = ("ingest", "read", "triage", "admin")


@click.group(epilog="Example: barograph token add ci --scope ingest")
def command() -> None:
    """Make, list and revoke tokens; without any the service serves this machine alone."""


@command.command(epilog="Example: barograph token add ci --scope ingest --scope read")
@click.argument("name")
@click.option("--scope", "scopes", type=click.Choice(SCOPES), multiple=True, required=True)
@store_option
def add(name: str, scopes: tuple[str, ...], url: str) -> None:
    """Make a token named NAME and print it: it is never shown again."""
    from barograph.store import tokens
    from barograph.store.tokens import Scope

    with open_store(url) as store:
        wanted = [Scope(scope) for scope in scopes]
        click.echo(store.write(lambda connection: tokens.create(connection, name, wanted, "cli")))


@command.command(epilog="Example: barograph token revoke ci")
@click.argument("name")
@store_option
def revoke(name: str, url: str) -> None:
    """Let the token named NAME be good for nothing."""
    from barograph.store import tokens

    with open_existing(url) as store:
        store.write(lambda connection: tokens.revoke(connection, name, "cli"))


@command.command(name="list", epilog="Example: barograph token list")
@store_option
@output_option
def listed(url: str, output: str) -> None:
    """List the tokens: their names and scopes, never what they are."""
    from barograph.store import tokens

    with open_existing(url) as store, store.read() as connection:
        found = tokens.every(connection)
    rows = [
        {"name": one.name, "scopes": sorted(one.scopes), "revoked": one.revoked is not None}
        for one in found
    ]
    if output == "json":
        click.echo(json.dumps({"tokens": rows}))
        return
    for row in rows:
        scopes = " ".join(map(str, row["scopes"] if isinstance(row["scopes"], list) else []))
        click.echo(f"{row['name']}  {scopes}" + ("  revoked" if row["revoked"] else ""))
