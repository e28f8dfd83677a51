"""`barograph prune`: delete old results that no verdict needs."""

from __future__ import annotations

import re
from dataclasses import asdict

import click

from barograph.cli.options import echo_json, format_option, open_existing, store_option
from barograph.results.wording import plural

AGE = re.compile(r"(\d+(?:\.\d+)?)d")


def read_age(_context: click.Context, _option: click.Parameter, text: str) -> float:
    """Return the days of an age such as 400d."""
    match = AGE.fullmatch(text)
    if match is None:
        raise click.BadParameter(f"{text!r:.40} is not a number of days, such as 400d")
    return float(match[1])


@click.command(epilog="Example: barograph prune --older-than 400d --dry-run")
@click.option(
    "--older-than",
    "days",
    callback=read_age,
    metavar="AGE",
    required=True,
    help="Delete results that are older than this, in days, such as 400d.",
)
@click.option("--dry-run", is_flag=True, help="Count, but delete nothing.")
@store_option
@format_option("text", "json")
def command(days: float, dry_run: bool, url: str, output: str) -> None:
    """Delete old results, with the candidates among them.

    Verdicts are never deleted. A series with a verdict or a ticket keeps all its results; of other
    series that are not retired, the newest 500 stay.
    """
    from barograph.server.store import retention

    with open_existing(url) as store:
        result = retention.prune(store, days, "cli", dry_run=dry_run)
    if output == "json":
        echo_json({**asdict(result), "dry_run": dry_run})
        return
    verb = "would be deleted" if dry_run else "deleted"
    click.echo(
        f"{plural(result.points, 'result')} and {plural(result.candidates, 'candidate')} "
        f"of {result.series:,} series {verb}; "
        f"{result.kept:,} series kept for a verdict or a ticket"
    )
