"""`barograph import`: fill the store from any source."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli import LONGEST
from barograph.cli.inputs import Inputs, input_options
from barograph.cli.options import (
    echo_json,
    false_alarms_setting,
    format_option,
    model_option,
    online_models,
    open_store,
    store_option,
)
from barograph.results.wording import plural
from barograph.runtime.errors import DataError

if TYPE_CHECKING:
    from barograph.results.history import History
    from barograph.server.store.commit_details import CommitDetails
    from barograph.server.store.exchange import ImportResult
    from barograph.sources.git import Commit, Repository

REASONS = 3  # shown at most


@click.command(name="import", epilog="Example: barograph import dump --kind mongodump")
@input_options()
@store_option
@model_option("online")
@false_alarms_setting
@format_option("text", "json")
@click.option(
    "--restore",
    is_flag=True,
    help="Restore an empty store from FILE, a folder that `export` wrote. By default series, "
    "points and candidates are added to the store.",
)
@click.pass_context
def command(
    context: click.Context,
    inputs: Inputs,
    url: str,
    model: Path,
    false_alarms_per_1000: float,
    output: str,
    restore: bool,
) -> None:
    """Add every series, point and candidate in FILE to the store.

    Rows that the store already has are skipped, so an import can be repeated. If some rows are
    rejected, the others are stored, and the exit code is 1. In a git repository the subjects,
    authors and parents of its commits are stored too, also of those between the measured ones.
    """
    from barograph.server.store import commit_details
    from barograph.server.store.exchange import import_history

    if restore:
        from barograph.server.store import archive

        with open_store(url) as store:
            counts = archive.restore(store, inputs.locations[0])
        if output == "json":
            echo_json(counts)
        else:
            rows = [f"{name} {count:,}" for name, count in counts.items() if count]
            click.echo(f"rows restored: {', '.join(rows) or 'none'}")
        return
    models = online_models(model)
    history = inputs.base_history()
    with open_store(url, models, false_alarms_per_1000) as store:
        filled = import_history(store, history, "import")
        described = _described(history)
        if described:
            store.write(lambda connection: commit_details.save(connection, described))
    report_rejected(filled)
    code = 1 if filled.points["rejected"] else 0
    if output == "json":
        candidates = {"written": filled.candidates, "had": filled.already}
        echo_json({"points": filled.points, "reasons": filled.reasons, "candidates": candidates})
        context.exit(code)
    points = ", ".join(f"{count:,} {status}" for status, count in filled.points.items())
    click.echo(f"points: {points}")
    click.echo(f"candidates: {filled.candidates:,} written, {filled.already:,} already there")
    context.exit(code)


def _described(history: History) -> list[CommitDetails]:
    """Return what the repository of this folder knows about the commits, and those between."""
    from barograph.sources.git import Repository

    repository = Repository()
    pairs = {(series.id.project, name) for series in history for name in series.commits if name}
    known = repository.find(name for _, name in pairs)
    rows: list[CommitDetails] = []
    for project in sorted({project for project, _ in pairs}):
        names = sorted(name for other, name in pairs if other == project and name in known)
        rows += _lineage(repository, project, {name: known[name] for name in names})
    return rows


def _lineage(repository: Repository, project: str, named: dict[str, Commit]) -> list[CommitDetails]:
    """Return the details of measured commits, and of those between them, with their parents."""
    from barograph.server.store.commit_details import described

    names = {commit.hash: name for name, commit in named.items()}
    # A shallow clone does not show which commits lie between.
    listed = [] if repository.is_shallow() else repository.history([*names])
    first = next((k for k, commit in enumerate(listed) if commit in names), 0)
    between = repository.find(commit for commit in listed[first:] if commit not in names)
    line = [names.get(commit, commit) for commit in listed[max(first - 1, 0) :]]
    parents = dict(itertools.pairwise(reversed(line)))
    return [
        described(project, name, commit.subject, commit.author, parents.get(name, ""))
        for name, commit in (named | between).items()
    ]


def report_rejected(filled: ImportResult) -> None:
    """Print on stderr which points were rejected, and why.

    Raises:
        DataError: All points were rejected.
    """
    count = filled.points["rejected"]
    if not count:
        return
    reasons = [f"{reason} ({plural(number, 'time')})" for reason, number in filled.reasons.items()]
    rest = "" if len(reasons) <= REASONS else f"; {plural(len(reasons) - REASONS, 'more reason')}"
    text = f"{plural(count, 'point')} rejected: {'; '.join(reasons[:REASONS])}{rest}"
    for line in filled.rejected:
        click.echo(f"rejected: {line}"[:LONGEST], err=True)
    if count > len(filled.rejected):
        more = plural(count - len(filled.rejected), "more point")
        click.echo(f"rejected: {more}", err=True)
    if count == sum(filled.points.values()):
        raise DataError(text[:LONGEST])
    click.echo(text[:LONGEST], err=True)
