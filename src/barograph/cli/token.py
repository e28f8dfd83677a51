"""`barograph token`: manage the tokens of the service."""

from __future__ import annotations

import click

from barograph.cli.options import echo_json, format_option, open_existing, open_store, store_option

SCOPES = ("ingest", "read", "triage", "admin")


@click.group(epilog="Example: barograph token add ci --scope ingest")
def command() -> None:
    """Create, list and revoke tokens; without tokens the service serves this machine only."""


@command.command(epilog="Example: barograph token add ci --scope ingest --scope read")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    required=True,
    help="Permission of the token. Repeatable.",
)
@store_option
def add(name: str, scopes: tuple[str, ...], url: str) -> None:
    """Create the token NAME and print it; it is shown only once."""
    from barograph.server.store import tokens
    from barograph.server.store.tokens import Scope

    with open_store(url) as store:
        allowed = [Scope(scope) for scope in scopes]
        click.echo(store.write(lambda connection: tokens.create(connection, name, allowed, "cli")))


@command.command(epilog="Example: barograph token revoke ci")
@click.argument("name")
@store_option
def revoke(name: str, url: str) -> None:
    """Revoke the token NAME."""
    from barograph.server.store import tokens

    with open_existing(url) as store:
        store.write(lambda connection: tokens.revoke(connection, name, "cli"))


@command.command(name="list", epilog="Example: barograph token list")
@store_option
@format_option("text", "json")
def list_(url: str, output: str) -> None:
    """List the names and scopes of all tokens.

    Their secrets are not stored.
    """
    from barograph.server.store import tokens

    with open_existing(url) as store, store.read() as connection:
        every = tokens.every(connection)
    if output == "json":
        rows = [
            {
                "name": token.name,
                "scopes": sorted(token.scopes),
                "revoked": token.revoked is not None,
            }
            for token in every
        ]
        echo_json({"tokens": rows})
        return
    for token in every:
        revoked = "" if token.revoked is None else "  revoked"
        click.echo(f"{token.name}  {' '.join(sorted(token.scopes))}{revoked}")
