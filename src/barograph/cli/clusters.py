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
    echo,
    echo_csv,
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
    from barograph.results.series import Series

SHOWN = 5  # members in a line
LEAST = 4  # commits
KEYS = ("k", "cutoff", "span", "floor", "min_members")
COLUMNS = (
    *("project", "commit", "order", "size", "worse", "better", "percent", "step"),
    *("regression", "status"),
)
# The name of a project, its series by number, and the clusters that people know.
ProjectSeries = tuple[str, Mapping[int, "Series"], Sequence["StepCluster"]]


def configured_settings() -> ClusterSettings:
    """Return the settings that the configuration sets for this command, for the service."""
    defaults = option_defaults(current_config(), clusters, "clusters")
    return ClusterSettings(**{name: defaults[name] for name in KEYS if name in defaults})


@click.command("clusters", epilog="Example: barograph clusters results.csv --all")
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
def clusters(inputs: Inputs, url: str | None, every: bool, output: str, **keys: Any) -> None:
    """Find steps that many series of a project take at one commit, by k-means on their shapes.

    A cluster holds series of the same shape, so one cause that moves many series is one row.
    """
    source = click.get_current_context().get_parameter_source
    is_store_named = source("url") is ParameterSource.COMMANDLINE
    if is_store_named and source("files") is ParameterSource.COMMANDLINE:
        raise click.UsageError("name files or --store, not both")
    if inputs.locations and not is_store_named:
        projects = _of_files(inputs)
    elif url:
        projects = [*_of_store(url)]
    else:
        raise click.UsageError("name files, or a store with --store")
    content = [search(project, ClusterSettings(**keys)) for project in projects]
    if all(entry.pop("commits") < LEAST for entry in content):
        raise NotEnoughDataError("no project has four commits, which a step needs")
    rows = [row for entry in content for row in entry["clusters"]]
    if output == "csv":
        echo_csv(COLUMNS, ([row[name] for name in COLUMNS] for row in rows))
        return
    lines = [line for row in rows for line in _lines(row, len(row["members"]) if every else SHOWN)]
    series, count = sum(entry["series"] for entry in content), plural(len(content), "project")
    lines.append(f"{series:,} series in {count}, {plural(len(rows), 'cluster')}")
    if not rows:
        lines.append(
            "no step has enough series (`min-members`, `span`) and is clear enough (`cutoff`): "
            "keys of the table [clusters]"
        )
    echo(output, {"projects": content}, *lines)


def _of_files(inputs: Inputs) -> list[ProjectSeries]:
    """Return the series of each project of some files."""
    projects: dict[str, dict[int, Series]] = {}
    for number, series in enumerate(inputs.read()):
        projects.setdefault(series.id.project, {})[number] = series
    return [(project, series, ()) for project, series in projects.items()]


def _of_store(url: str) -> Iterator[ProjectSeries]:
    """Yield the series of each project of a store, with the clusters that people know."""
    from barograph.server.store import reading
    from barograph.server.store.database import chunks
    from barograph.server.triage.clusters import of_project

    with open_existing(url) as store, store.read() as connection:
        for project in reading.projects(connection):
            rows = reading.find_series(connection, project=project, limit=2**31 - 1)
            series: dict[int, Series] = {}
            for numbers in chunks([row.id for row in rows]):
                series |= reading.read_series(connection, numbers)
            known = [row.cluster for row in of_project(connection, project)]
            yield project, series, known


def search(project: ProjectSeries, settings: ClusterSettings) -> dict[str, Any]:
    """Return the steps that the series of a project have in common, as plain values.

    Args:
        project: The series.
        settings: How to search.
    """
    import numpy as np

    from barograph.detection.stepfit import cluster_steps, coalesce
    from barograph.results.sizes import size_of

    name, series, known = project
    orders = np.unique(np.concatenate([entry.orders for entry in series.values()]))
    orders = orders[-settings.span :]
    values = np.full((len(series), orders.size), np.nan)
    commits: dict[int, str] = {}
    for row, entry in zip(values, series.values(), strict=True):
        is_used = entry.orders >= orders[:1]
        row[np.searchsorted(orders, entry.orders[is_used])] = entry.values[is_used]
        named = zip(entry.orders.tolist(), entry.commits, strict=True)
        commits |= {order: commit for order, commit in named if commit}
    traces = dict(zip(series, values, strict=True))
    found = cluster_steps(values, [*series], orders=orders, settings=settings)
    rows = []
    for cluster in (entry for entry in coalesce(found, known, orders) if entry.current):
        members = []
        for number in (int(str(member)) for member in cluster.members):
            sides = traces[number][: cluster.index], traces[number][cluster.index :]
            before, after = (side[~np.isnan(side)] for side in sides)
            percent = size_of(before, after).percent if before.size and after.size else 0.0
            members.append((series[number], percent))
        ways = [int(entry.direction) * percent for entry, percent in members]
        order = int(orders[cluster.index])
        content = {
            "project": name,
            "commit": commits.get(order, ""),
            "order": order,
            "size": len(members),
            "worse": sum(way < 0 for way in ways),
            "better": sum(way > 0 for way in ways),
            "percent": median(percent for _, percent in members),
            "step": cluster.step,
            "regression": cluster.regression,
            "status": cluster.status.value,
            "members": [{"series": str(e.id), "percent": percent} for e, percent in members],
        }
        rows.append(content)
    return {"project": name, "series": len(series), "clusters": rows, "commits": orders.size}


def _lines(row: Mapping[str, Any], most: int) -> Iterator[str]:
    """Yield the lines about a cluster, with some of its members."""
    place = place_text(row["commit"], row["order"])
    counts = [f"{row[way]} {way}" for way in ("worse", "better") if row[way]]
    effect = ", ".join(counts) or "direction unknown"
    status = "" if row["status"] == "new" else f", {row['status']}"
    yield printable(
        f"{row['project'] or 'no project'}  {place}  {row['size']:,} series: {effect}, "
        f"{change_text(row['percent'])} (median){status}"
    )
    for member in row["members"][:most]:
        yield f"  {printable(member['series'])}  {change_text(member['percent'])}"
    if len(row["members"]) > most:
        yield f"  and {len(row['members']) - most:,} more"
