"""`barograph append`: add the results of a run to a history file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli import LONGEST
from barograph.cli.inputs import DATABASES, Inputs, input_options
from barograph.cli.options import echo_json, format_option
from barograph.results.wording import plural
from barograph.runtime.errors import ConfigError

if TYPE_CHECKING:
    from barograph.sources.append import Appended

SHOWN = 3  # commits
UNUSABLE = 20  # results that are named


@click.command(epilog="Example: barograph append history.csv benchmark.json --run $GITHUB_RUN_ID")
@click.argument("history", type=click.Path(path_type=Path, dir_okay=False))
@input_options("OUTPUT...")
@click.option(
    "--run",
    default="",
    metavar="NAME",
    help="Name of the run. Replace only earlier results of this run of the commit, and keep those "
    "of other runs; by default all earlier results of the commit are replaced.",
)
@format_option("text", "json")
@click.pass_context
def command(context: click.Context, history: Path, inputs: Inputs, run: str, output: str) -> None:
    """Append the results in OUTPUT to HISTORY, and create HISTORY if it does not exist.

    OUTPUT is a file of any format that `barograph formats` lists. HISTORY is a CSV, NDJSON,
    JSON or Parquet file with a row for each result. A new commit comes after the last one in
    HISTORY. Results of a commit that is already there replace its earlier results of the same
    series.

    HISTORY is replaced in one step, so a failure leaves it unchanged, and several processes can
    append at once. If rows of a table cannot be used, the others are appended, and the exit code
    is 1.
    """
    from barograph.sources.append import append

    if inputs.kind in DATABASES:
        raise ConfigError(f"--kind {inputs.kind}: append reads files; `barograph import` reads it")
    # These keys of [input] are about a history.
    options = replace(inputs.options, aggregate="median", base_branch="", order_by="")
    appended = append(history, inputs.locations, options, run)
    for note in appended.notes:
        click.echo(note, err=True)
    unusable = appended.unusable[:UNUSABLE]
    for line in unusable:
        click.echo(f"left out: {line}"[:LONGEST], err=True)
    if more := appended.skipped - len(unusable):
        click.echo(f"left out: {plural(more, 'more result')}", err=True)
    if output == "json":
        counts = {name: getattr(appended, name) for name in ("results", "replaced", "skipped")}
        commits = [{"commit": name, "order": order} for name, order in appended.commits.items()]
        echo_json({"history": str(history), **counts, "commits": commits})
    else:
        click.echo(f"{history}: {_summary(appended)}")
    context.exit(1 if appended.refused else 0)


def _summary(appended: Appended) -> str:
    """Return what was appended, in one line."""
    names = [name[:12] or "unnamed" for name in appended.commits]
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    what = f"commit {shown}" if len(names) == 1 else f"{len(names):,} commits ({shown})"
    origin = "without a commit" if [*appended.commits] == [""] else f"of {what}"
    parts = [f"{plural(appended.results, 'result')} {origin}"]
    if appended.replaced:
        parts.append(f"{plural(appended.replaced, 'earlier result')} replaced")
    if appended.skipped:
        parts.append(f"{plural(appended.skipped, 'unusable result')} left out")
    return ", ".join(parts)
