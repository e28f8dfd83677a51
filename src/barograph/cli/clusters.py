"""`barograph clusters`: steps that many series of a project have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from barograph.cli.config import current_config, option_defaults
from barograph.cli.inputs import NAMES, OPTIONS, Inputs, inputs_of
from barograph.cli.options import (
    F,
    NumberRange,
    echo_csv,
    echo_json,
    format_option,
    grouped,
    open_existing,
    with_options,
)
from barograph.results.wording import change_text, place_text, plural, printable
from barograph.runtime.errors import NotEnoughDataError

if TYPE_CHECKING:
    from barograph.detection import ClusterSettings, StepCluster
    from barograph.results.history import History
    from barograph.results.series import Direction, Floats, Ints, SeriesId

SHOWN = 5  # members in a line
COLUMNS = (
    *("project", "commit", "order", "size", "worse", "better", "percent", "step"),
    *("regression", "status"),
)


@dataclass(frozen=True)
class ProjectTraces:
    """The newest results of all series of a project.

    Args:
        project: The project.
        ids: The series.
        directions: Which way is better in each.
        orders: The orders of the commits.
        commits: Their names; empty if unknown.
        values: A row for each series, a column for each commit, NaN where a result is missing.
        clusters: The common steps. Their members are numbers of rows.
    """

    project: str
    ids: Sequence[SeriesId]
    directions: Sequence[Direction]
    orders: Ints
    commits: Sequence[str]
    values: Floats
    clusters: Sequence[StepCluster]

    def changes(self, cluster: StepCluster) -> list[float]:
        """Return the change of each member in percent of the level before the step."""
        import numpy as np

        from barograph.results.sizes import size_of

        changes = []
        for member in cluster.members:
            values = self.values[int(str(member))]
            sides = values[: cluster.index], values[cluster.index :]
            before, after = (side[~np.isnan(side)] for side in sides)
            is_known = before.size and after.size
            changes.append(size_of(before, after).percent if is_known else 0.0)
        return changes


def _settings(
    k: int | None, cutoff: float | None, span: int, floor: float, min_members: int
) -> ClusterSettings:
    from barograph.detection import ClusterSettings

    return ClusterSettings(k, cutoff, span, floor, min_members)


cluster_options = grouped(
    "settings",
    _settings,
    click.option(
        "--k",
        type=click.IntRange(min=1),
        metavar="N",
        show_default="square root of the number of series, from 2 to 50",
        help="Initial number of clusters.",
    ),
    click.option(
        "--cutoff",
        type=NumberRange(min=0.0, min_open=True),
        metavar="R",
        show_default="2.5 for each series of the cluster, at most 150",
        help="Minimum height of the common step divided by its squared error.",
    ),
    click.option(
        "--span",
        type=click.IntRange(min=4),
        default=250,
        show_default=True,
        metavar="N",
        help="Number of newest commits to search.",
    ),
    click.option(
        "--floor",
        type=NumberRange(min=0.0),
        default=0.001,
        show_default=True,
        metavar="SHARE",
        help="Noise below this share of the level of a series counts as no noise.",
    ),
    click.option(
        "--min-members",
        type=click.IntRange(min=1),
        default=3,
        show_default=True,
        metavar="N",
        help="Minimum number of series in a cluster.",
    ),
)


def configured_settings() -> ClusterSettings:
    """Return the settings that the configuration sets for this command, for the service."""
    from barograph.detection import ClusterSettings

    defaults = option_defaults(current_config(), command, "clusters")
    names = {field.name for field in fields(ClusterSettings)}
    return ClusterSettings(**{name: value for name, value in defaults.items() if name in names})


def _input_options(function: F) -> F:
    """Add the reading options and FILE..., which may be left out for a store."""
    files = click.argument("files", nargs=-1, metavar="[FILE]...")
    return with_options(function, [files, *OPTIONS])


@click.command(epilog="Example: barograph clusters results.csv --span 100")
@_input_options
@click.option(
    "--store",
    "url",
    envvar="BAROGRAPH_STORE",
    show_envvar=True,
    help="Search the series of a store (an SQLite file or a PostgreSQL URL) instead of files.",
)
@cluster_options
@click.option("--all", "every", is_flag=True, help="Print all series of a cluster.")
@format_option("text", "json", "csv")
def command(
    url: str | None, settings: ClusterSettings, every: bool, output: str, **reading: Any
) -> None:
    """Find steps that many series of a project take at one commit, by k-means on their shapes.

    A cluster holds series of the same shape, so one cause that moves many series is one row.
    """
    inputs = inputs_of(**{name: reading.pop(name) for name in NAMES})
    source = click.get_current_context().get_parameter_source
    is_store_named = source("url") is ParameterSource.COMMANDLINE
    if is_store_named and source("files") is ParameterSource.COMMANDLINE:
        raise click.UsageError("name files or --store, not both")
    if inputs.locations and not is_store_named:
        projects = [*_of_files(inputs, settings)]
    elif url:
        projects = [*_of_store(url, settings)]
    else:
        raise click.UsageError("name files, or a store with --store")
    if not any(traces.values.shape[1] >= 4 for traces in projects):
        raise NotEnoughDataError("no project has four commits, which a step needs")
    if output == "json":
        echo_json({"projects": [_as_dict(traces) for traces in projects]})
    elif output == "csv":
        rows = (_row(traces, cluster) for traces in projects for cluster in traces.clusters)
        echo_csv(COLUMNS, ([row[name] for name in COLUMNS] for row in rows))
    else:
        for line in _lines(projects, every=every):
            click.echo(line)


def _of_files(inputs: Inputs, settings: ClusterSettings) -> Iterator[ProjectTraces]:
    """Yield the traces of each project of some files."""
    history = inputs.read()
    projects: dict[str, list[int]] = {}
    for number, name in enumerate(history.ids):
        projects.setdefault(name.project, []).append(number)
    for project, numbers in projects.items():
        yield traces_of(history, project, numbers, settings)


def traces_of(
    history: History, project: str, numbers: Sequence[int], settings: ClusterSettings
) -> ProjectTraces:
    """Return the traces of some series of a history, with their common steps."""
    import numpy as np

    from barograph.detection import cluster_steps

    every = [history[number] for number in numbers]
    orders = np.unique(np.concatenate([series.orders for series in every]))[-settings.span :]
    values = np.full((len(every), orders.size), np.nan)
    commits = [""] * orders.size
    for row, series in enumerate(every):
        first = int(np.searchsorted(series.orders, orders[0])) if orders.size else 0
        columns = np.searchsorted(orders, series.orders[first:])
        values[row, columns] = series.values[first:]
        for column, name in zip(columns.tolist(), series.commits[first:], strict=True):
            commits[column] = name or commits[column]
    clusters = cluster_steps(values, orders=orders, settings=settings)
    directions = [series.direction for series in every]
    return ProjectTraces(
        project, [series.id for series in every], directions, orders, commits, values, clusters
    )


def _of_store(url: str, settings: ClusterSettings) -> Iterator[ProjectTraces]:
    """Yield the traces of each project of a store."""
    from barograph.server.store import reading
    from barograph.server.triage import clusters

    with open_existing(url) as store, store.read() as connection:
        for project in reading.projects(connection):
            traces = clusters.traces_of(connection, project, settings.span)
            rows = {number: row for row, number in enumerate(traces.numbers)}
            matched = clusters.search(connection, project, settings, traces)
            count = len(traces.numbers)
            series = reading.find_series(connection, project=project, limit=count)
            yield ProjectTraces(
                project,
                [stored.name for stored in series],
                [stored.direction for stored in series],
                traces.orders,
                clusters.commits_of(connection, project, traces.orders),
                traces.values,
                [
                    replace(
                        cluster, members=tuple(rows[int(str(number))] for number in cluster.members)
                    )
                    for cluster in matched
                    if cluster.current
                ],
            )


def _lines(projects: Sequence[ProjectTraces], *, every: bool) -> Iterator[str]:
    total = 0
    for traces in projects:
        for cluster in traces.clusters:
            total += 1
            row = _row(traces, cluster)
            place = place_text(row["commit"], row["order"])
            counts = [f"{row[way]} {way}" for way in ("worse", "better") if row[way]]
            effect = ", ".join(counts) or "direction unknown"
            status = "" if cluster.status.value == "new" else f", {cluster.status.value}"
            yield printable(
                f"{traces.project or 'no project'}  {place}  {row['size']:,} series: {effect}, "
                f"{change_text(row['percent'])} (median){status}"
            )
            members = row["members"]
            shown = members if every else members[:SHOWN]
            for member in shown:
                yield f"  {printable(member['series'])}  {change_text(member['percent'])}"
            if len(members) > len(shown):
                yield f"  and {len(members) - len(shown):,} more"
    series = sum(len(traces.ids) for traces in projects)
    yield f"{series:,} series in {plural(len(projects), 'project')}, {plural(total, 'cluster')}"
    if not total:
        yield "no step in --span has enough series (--min-members) and is clear enough (--cutoff)"


def _row(traces: ProjectTraces, cluster: StepCluster) -> dict[str, Any]:
    """Return a cluster as plain values."""
    from statistics import median

    changes = traces.changes(cluster)
    members = [int(str(member)) for member in cluster.members]
    ways = [int(traces.directions[row]) * size for row, size in zip(members, changes, strict=True)]
    return {
        "project": traces.project,
        "commit": traces.commits[cluster.index],
        "order": int(traces.orders[cluster.index]),
        "size": len(members),
        "worse": sum(way < 0 for way in ways),
        "better": sum(way > 0 for way in ways),
        "percent": median(changes),
        "step": cluster.step,
        "regression": cluster.regression,
        "status": cluster.status.value,
        "members": [
            {"series": str(traces.ids[row]), "percent": change}
            for row, change in zip(members, changes, strict=True)
        ],
    }


def _as_dict(traces: ProjectTraces) -> dict[str, Any]:
    rows = [_row(traces, cluster) for cluster in traces.clusters]
    return {"project": traces.project, "series": len(traces.ids), "clusters": rows}
