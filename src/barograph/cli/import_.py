"""`barograph append` and `import`: add results to a history file, or to the store."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli import LONGEST
from barograph.cli.inputs import DATABASES, Inputs, input_options
from barograph.cli.options import (
    echo,
    false_alarms_setting,
    format_option,
    model_option,
    online_models,
    open_store,
    setting,
    store_option,
)
from barograph.results.wording import plural
from barograph.runtime.errors import ConfigError, DataError

if TYPE_CHECKING:
    from barograph.results.history import History
    from barograph.server.store.commit_details import CommitDetails
    from barograph.server.store.exchange import ImportResult
    from barograph.sources.append import Appended
    from barograph.sources.git import Commit, Repository

REASONS = 3  # shown at most
SHOWN = 3  # commits
UNUSABLE = 20  # results that are named


@click.command(
    "append", epilog="Example: barograph append history.csv benchmark.json --run $GITHUB_RUN_ID"
)
@click.argument("history", type=click.Path(path_type=Path, dir_okay=False))
@input_options("OUTPUT...")
@click.option(
    "--run",
    default="",
    metavar="NAME",
    help="Name of the run. Replace only earlier results of this run of the commit, and keep those "
    "of other runs; by default all earlier results of the commit are replaced.",
)
@setting(
    "cpu",
    type=click.Choice(["auto", "off"]),
    default="auto",
    help="`auto` writes the model of the CPU: that which the file names, or in a CI job that of "
    "this machine. `off` writes none.",
)
@format_option("text", "json")
@click.pass_context
def append(
    context: click.Context, history: Path, inputs: Inputs, run: str, cpu: str, output: str
) -> None:
    """Append the results in OUTPUT to HISTORY, and create HISTORY if it does not exist.

    OUTPUT is a file of any format that `barograph formats` lists. HISTORY is a CSV, NDJSON,
    JSON or Parquet file with a row for each result. A new commit comes after the last one in
    HISTORY. Results of a commit that is already there replace its earlier results of the same
    series.

    HISTORY is replaced in one step, so a failure leaves it unchanged, and several processes can
    append at once. If rows of a table cannot be used, the others are appended, and the exit code
    is 1.
    """
    from barograph.sources.append import append as extend
    from barograph.sources.formats.context import cpu_of_job

    if inputs.kind in DATABASES:
        raise ConfigError(f"--kind {inputs.kind}: append reads files; `barograph import` reads it")
    # These keys of [input] are about a history.
    options = replace(inputs.options, aggregate="median", base_branch="", order_by="")
    named = None if cpu == "off" else cpu_of_job()
    appended = extend(history, inputs.locations, options, run, cpu=named)
    for note in appended.notes:
        click.echo(note, err=True)
    unusable = appended.report.skips("points")[:UNUSABLE]
    for line in unusable:
        click.echo(f"left out: {line}"[:LONGEST], err=True)
    skipped = appended.report.skipped["points"].total()
    if more := skipped - len(unusable):
        click.echo(f"left out: {plural(more, 'more result')}", err=True)
    counts = {"results": appended.results, "replaced": appended.replaced, "skipped": skipped}
    commits = [{"commit": name, "order": order} for name, order in appended.commits.items()]
    content = {"history": str(history), **counts, "commits": commits}
    echo(output, content, f"{history}: {_summary(appended, skipped)}")
    context.exit(1 if appended.refused else 0)


def _summary(appended: Appended, skipped: int) -> str:
    """Return what was appended, in one line."""
    names = [name[:12] or "unnamed" for name in appended.commits]
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    what = f"commit {shown}" if len(names) == 1 else f"{len(names):,} commits ({shown})"
    origin = "without a commit" if [*appended.commits] == [""] else f"of {what}"
    parts = [f"{plural(appended.results, 'result')} {origin}"]
    if appended.replaced:
        parts.append(f"{plural(appended.replaced, 'earlier result')} replaced")
    if skipped:
        parts.append(f"{plural(skipped, 'unusable result')} left out")
    return ", ".join(parts)


@click.command("import", epilog="Example: barograph import dump --kind mongodump")
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
def import_(
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
        from barograph.server.store import export

        with open_store(url) as store:
            counts = export.restore(store, inputs.locations[0])
        rows = [f"{name} {count:,}" for name, count in counts.items() if count]
        echo(output, counts, f"rows restored: {', '.join(rows) or 'none'}")
        return
    history = inputs.base_history()
    with open_store(url, online_models(model), false_alarms_per_1000) as store:
        filled = import_history(store, history, "import")
        if described := _described(history):
            store.write(lambda connection: commit_details.save(connection, described))
    report_rejected(filled)
    candidates = {"written": filled.candidates, "had": filled.already}
    points = ", ".join(f"{count:,} {status}" for status, count in filled.points.items())
    echo(
        output,
        {"points": filled.points, "reasons": filled.reasons, "candidates": candidates},
        f"points: {points}",
        f"candidates: {filled.candidates:,} written, {filled.already:,} already there",
    )
    context.exit(1 if filled.points["rejected"] else 0)


def _described(history: History) -> list[CommitDetails]:
    """Return what the repository of this folder knows about the commits, and those between."""
    from barograph.sources.git import Repository

    repository = Repository()
    projects: dict[str, set[str]] = {}
    for series in history:
        projects.setdefault(series.id.project, set()).update(filter(None, series.commits))
    known = repository.find(set().union(*projects.values()))
    rows: list[CommitDetails] = []
    for project in sorted(projects):
        named = {name: known[name] for name in sorted(projects[project] & known.keys())}
        rows += _lineage(repository, project, named)
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
    for line in filled.rejected:
        click.echo(f"rejected: {line}"[:LONGEST], err=True)
    if more := count - len(filled.rejected):
        click.echo(f"rejected: {plural(more, 'more point')}", err=True)
    reasons = [f"{reason} ({plural(number, 'time')})" for reason, number in filled.reasons.items()]
    if len(reasons) > REASONS:
        reasons[REASONS:] = [plural(len(reasons) - REASONS, "more reason")]
    text = f"{plural(count, 'point')} rejected: {'; '.join(reasons)}"[:LONGEST]
    if count == sum(filled.points.values()):
        raise DataError(text)
    click.echo(text, err=True)
