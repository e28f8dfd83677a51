"""`barograph clusters`: steps that many series of a project have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from barograph.cli.config import current_config, option_defaults
from barograph.cli.inputs import Inputs, input_options
from barograph.cli.options import (
    echo_csv,
    echo_json,
    format_option,
    open_existing,
    parameters_of,
    with_parameters,
)
from barograph.detection import ClusterSettings
from barograph.results.wording import change_text, place_text, plural, printable
from barograph.runtime.errors import NotEnoughDataError

if TYPE_CHECKING:
    from barograph.detection import StepCluster
    from barograph.results.series import Floats, Series

SHOWN = 5  # members in a line
LEAST = 4  # commits
KEYS = ("k", "cutoff", "span", "floor", "min_members")
COLUMNS = (
    *("project", "commit", "order", "size", "worse", "better", "percent", "step"),
    *("regression", "status"),
)

ProjectSeries = tuple[
    str, Mapping[int, "Series"], Sequence["StepCluster"]
]  # with the known clusters


def configured_settings() -> ClusterSettings:
    """Return the settings that the configuration sets for this command, for the service."""
    defaults = option_defaults(current_config(), command, "clusters")
    return ClusterSettings(**{name: defaults[name] for name in KEYS if name in defaults})


@click.command(epilog="Example: barograph clusters results.csv --all")
@input_options("[FILE]...", required=False)
@click.option(
    "--store",
    "url",
    envvar="BAROGRAPH_STORE",
    show_envvar=True,
    help="Search the series of a store (an SQLite file or a PostgreSQL URL) instead of files.",
)
@click.option("--all", "every", is_flag=True, help="Print all series of a cluster.")
@format_option("text", "json", "csv")
@with_parameters(parameters_of(ClusterSettings, *KEYS, table=""))
def command(inputs: Inputs, url: str | None, every: bool, output: str, **keys: Any) -> None:
    """Find steps that many series of a project take at one commit, by k-means on their shapes.

    A cluster holds series of the same shape, so one cause that moves many series is one row.
    """
    source = click.get_current_context().get_parameter_source
    is_store_named = source("url") is ParameterSource.COMMANDLINE
    if is_store_named and source("files") is ParameterSource.COMMANDLINE:
        raise click.UsageError("name files or --store, not both")
    if inputs.locations and not is_store_named:
        projects = [*_of_files(inputs)]
    elif url:
        projects = [*_of_store(url)]
    else:
        raise click.UsageError("name files, or a store with --store")
    content = [search(project, ClusterSettings(**keys)) for project in projects]
    if all(entry.pop("commits") < LEAST for entry in content):
        raise NotEnoughDataError("no project has four commits, which a step needs")
    if output == "json":
        echo_json({"projects": content})
    elif output == "csv":
        rows = (row for entry in content for row in entry["clusters"])
        echo_csv(COLUMNS, ([row[name] for name in COLUMNS] for row in rows))
    else:
        for line in _lines(content, every=every):
            click.echo(line)


def _of_files(inputs: Inputs) -> Iterator[ProjectSeries]:
    """Yield the series of each project of some files."""
    projects: dict[str, dict[int, Series]] = {}
    for number, series in enumerate(inputs.read()):
        projects.setdefault(series.id.project, {})[number] = series
    yield from ((project, series, ()) for project, series in projects.items())


def _of_store(url: str) -> Iterator[ProjectSeries]:
    """Yield the series of each project of a store, with the clusters that people know."""
    from barograph.server.store import reading
    from barograph.server.store.database import chunks
    from barograph.server.triage import clusters

    with open_existing(url) as store, store.read() as connection:
        for project in reading.projects(connection):
            rows = reading.find_series(connection, project=project, limit=2**31 - 1)
            series: dict[int, Series] = {}
            for numbers in chunks([row.id for row in rows]):
                series |= reading.read_series(connection, numbers)
            known = [row.cluster for row in clusters.of_project(connection, project)]
            yield project, series, known


def search(project: ProjectSeries, settings: ClusterSettings) -> dict[str, Any]:
    """Return the steps that the series of a project have in common, as plain values.

    Args:
        project: The series.
        settings: How to search.
    """
    import numpy as np

    from barograph.detection.stepfit import cluster_steps, coalesce

    name, series, known = project
    orders = np.unique(np.concatenate([entry.orders for entry in series.values()]))
    orders = orders[-settings.span :]
    values = np.full((len(series), orders.size), np.nan)
    commits = [""] * orders.size
    for row, entry in zip(values, series.values(), strict=True):
        first = int(np.searchsorted(entry.orders, orders[0])) if orders.size else 0
        columns = np.searchsorted(orders, entry.orders[first:])
        row[columns] = entry.values[first:]
        for column, commit in zip(columns.tolist(), entry.commits[first:], strict=True):
            commits[column] = commit or commits[column]
    traces = {number: (series[number], row) for number, row in zip(series, values, strict=True)}
    found = cluster_steps(values, [*series], orders=orders, settings=settings)
    rows = [
        {
            "project": name,
            "commit": commits[cluster.index],
            "order": int(orders[cluster.index]),
            **_effect(cluster, [traces[int(str(member))] for member in cluster.members]),
        }
        for cluster in coalesce(found, known, orders)
        if cluster.current
    ]
    return {"project": name, "series": len(series), "clusters": rows, "commits": orders.size}


def _effect(cluster: StepCluster, members: Sequence[tuple[Series, Floats]]) -> dict[str, Any]:
    """Return how many series a cluster moves, how far, and which way."""
    import numpy as np

    from barograph.results.sizes import size_of

    changes = []
    for _, trace in members:
        sides = trace[: cluster.index], trace[cluster.index :]
        before, after = (side[~np.isnan(side)] for side in sides)
        changes.append(size_of(before, after).percent if before.size and after.size else 0.0)
    pairs = [(series, change) for (series, _), change in zip(members, changes, strict=True)]
    ways = [int(series.direction) * change for series, change in pairs]
    return {
        "size": len(members),
        "worse": sum(way < 0 for way in ways),
        "better": sum(way > 0 for way in ways),
        "percent": median(changes),
        "step": cluster.step,
        "regression": cluster.regression,
        "status": cluster.status.value,
        "members": [{"series": str(series.id), "percent": change} for series, change in pairs],
    }


def _lines(content: Sequence[Mapping[str, Any]], *, every: bool) -> Iterator[str]:
    rows = [row for entry in content for row in entry["clusters"]]
    for row in rows:
        place = place_text(row["commit"], row["order"])
        counts = [f"{row[way]} {way}" for way in ("worse", "better") if row[way]]
        effect = ", ".join(counts) or "direction unknown"
        status = "" if row["status"] == "new" else f", {row['status']}"
        yield printable(
            f"{row['project'] or 'no project'}  {place}  {row['size']:,} series: {effect}, "
            f"{change_text(row['percent'])} (median){status}"
        )
        members = row["members"]
        shown = members if every else members[:SHOWN]
        for member in shown:
            yield f"  {printable(member['series'])}  {change_text(member['percent'])}"
        if len(members) > len(shown):
            yield f"  and {len(members) - len(shown):,} more"
    series, projects = sum(entry["series"] for entry in content), plural(len(content), "project")
    yield f"{series:,} series in {projects}, {plural(len(rows), 'cluster')}"
    if not rows:
        yield (
            "no step has enough series (`min-members`, `span`) and is clear enough (`cutoff`): "
            "keys of the table [clusters]"
        )
