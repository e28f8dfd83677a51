"""`barograph clusters`: steps that many series of a project have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from barograph.cli.config import current_config, option_defaults
from barograph.cli.inputs import Inputs, input_options
from barograph.cli.options import (
    NumberRange,
    echo_csv,
    echo_json,
    format_option,
    grouped,
    open_existing,
    setting,
)
from barograph.results.wording import change_text, place_text, plural, printable
from barograph.runtime.errors import NotEnoughDataError

if TYPE_CHECKING:
    from barograph.detection import ClusterSettings, StepCluster
    from barograph.results.series import Ints, Series

SHOWN = 5  # members in a line
LEAST = 4  # commits
MOST = 2**31 - 1  # series
COLUMNS = (
    *("project", "commit", "order", "size", "worse", "better", "percent", "step"),
    *("regression", "status"),
)


@dataclass(frozen=True)
class ProjectSeries:
    """The series of a project.

    Args:
        project: The project.
        series: Its series, by their numbers.
        known: The clusters that people may have given a status.
    """

    project: str
    series: Mapping[int, Series]
    known: Sequence[StepCluster] = field(default_factory=list)

    def commits(self, span: int) -> Ints:
        """Return the orders of the newest commits."""
        import numpy as np

        orders = [series.orders for series in self.series.values()]
        return np.unique(np.concatenate(orders))[-span:]


def _settings(
    k: int | None, cutoff: float | None, span: int, floor: float, min_members: int
) -> ClusterSettings:
    from barograph.detection import ClusterSettings

    return ClusterSettings(k, cutoff, span, floor, min_members)


cluster_settings = grouped(
    "settings",
    _settings,
    setting(
        "k",
        type=click.IntRange(min=1),
        help="Initial number of clusters. Defaults to the square root of the number of series, "
        "from 2 to 50.",
    ),
    setting(
        "cutoff",
        type=NumberRange(min=0.0, min_open=True),
        help="Minimum height of the common step divided by its squared error. Defaults to 2.5 for "
        "each series of the cluster, at most 150.",
    ),
    setting(
        "span",
        type=click.IntRange(min=LEAST),
        default=250,
        help="Number of newest commits to search.",
    ),
    setting(
        "floor",
        type=NumberRange(min=0.0),
        default=0.001,
        help="Noise below this share of the level of a series counts as no noise.",
    ),
    setting(
        "min-members",
        type=click.IntRange(min=1),
        default=3,
        help="Minimum number of series in a cluster.",
    ),
)


def configured_settings() -> ClusterSettings:
    """Return the settings that the configuration sets for this command, for the service."""
    from barograph.detection import ClusterSettings

    defaults = option_defaults(current_config(), command, "clusters")
    names = {field.name for field in fields(ClusterSettings)}
    return ClusterSettings(**{name: value for name, value in defaults.items() if name in names})


@click.command(epilog="Example: barograph clusters results.csv --all")
@input_options("[FILE]...", required=False)
@click.option(
    "--store",
    "url",
    envvar="BAROGRAPH_STORE",
    show_envvar=True,
    help="Search the series of a store (an SQLite file or a PostgreSQL URL) instead of files.",
)
@cluster_settings
@click.option("--all", "every", is_flag=True, help="Print all series of a cluster.")
@format_option("text", "json", "csv")
def command(
    inputs: Inputs, url: str | None, settings: ClusterSettings, every: bool, output: str
) -> None:
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
    if not any(project.commits(settings.span).size >= LEAST for project in projects):
        raise NotEnoughDataError("no project has four commits, which a step needs")
    found = {project.project: search(project, settings) for project in projects}
    if output == "json":
        content = [
            {
                "project": entry.project,
                "series": len(entry.series),
                "clusters": found[entry.project],
            }
            for entry in projects
            for name in [entry.project]
        ]
        echo_json({"projects": content})
    elif output == "csv":
        rows = (row for clusters in found.values() for row in clusters)
        echo_csv(COLUMNS, ([row[name] for name in COLUMNS] for row in rows))
    else:
        for line in _lines(found, every=every):
            click.echo(line)
        count = sum(map(len, found.values()))
        series = sum(len(project.series) for project in projects)
        click.echo(
            f"{series:,} series in {plural(len(projects), 'project')}, {plural(count, 'cluster')}"
        )
        if not count:
            click.echo(
                "no step in `span` has enough series (`min-members`) and is clear enough "
                "(`cutoff`): keys of the table [clusters]"
            )


def _of_files(inputs: Inputs) -> Iterator[ProjectSeries]:
    """Yield the series of each project of some files."""
    projects: dict[str, dict[int, Series]] = {}
    for number, series in enumerate(inputs.read()):
        projects.setdefault(series.id.project, {})[number] = series
    yield from (ProjectSeries(project, series) for project, series in projects.items())


def _of_store(url: str) -> Iterator[ProjectSeries]:
    """Yield the series of each project of a store."""
    from barograph.server.store import reading
    from barograph.server.store.database import chunks
    from barograph.server.triage import clusters

    with open_existing(url) as store, store.read() as connection:
        for project in reading.projects(connection):
            rows = reading.find_series(connection, project=project, limit=MOST)
            series: dict[int, Series] = {}
            for numbers in chunks([row.id for row in rows]):
                series |= reading.read_series(connection, numbers)
            known = [row.cluster for row in clusters.of_project(connection, project)]
            yield ProjectSeries(project, series, known)


def search(project: ProjectSeries, settings: ClusterSettings) -> list[dict[str, Any]]:
    """Return the steps that series of a project have in common, as plain values.

    Args:
        project: The series.
        settings: How to search.
    """
    import numpy as np

    from barograph.detection import cluster_steps

    orders = project.commits(settings.span)
    values = np.full((len(project.series), orders.size), np.nan)
    commits = [""] * orders.size
    for row, series in zip(values, project.series.values(), strict=True):
        first = int(np.searchsorted(series.orders, orders[0])) if orders.size else 0
        columns = np.searchsorted(orders, series.orders[first:])
        row[columns] = series.values[first:]
        for column, name in zip(columns.tolist(), series.commits[first:], strict=True):
            commits[column] = name or commits[column]
    numbers = [*project.series]
    traces = dict(zip(numbers, values, strict=True))
    clusters = cluster_steps(values, numbers, orders=orders, known=project.known, settings=settings)
    return [
        {
            "project": project.project,
            "commit": commits[cluster.index],
            "order": int(orders[cluster.index]),
            **_effect(cluster, project.series, traces),
        }
        for cluster in clusters
        if cluster.current
    ]


def _effect(
    cluster: StepCluster, series: Mapping[int, Series], traces: Mapping[int, Any]
) -> dict[str, Any]:
    """Return how many series a cluster moves, how far, and which way."""
    from statistics import median

    import numpy as np

    from barograph.results.sizes import size_of

    numbers = [int(str(member)) for member in cluster.members]
    changes = []
    for number in numbers:
        sides = traces[number][: cluster.index], traces[number][cluster.index :]
        before, after = (side[~np.isnan(side)] for side in sides)
        is_known = before.size and after.size
        changes.append(size_of(before, after).percent if is_known else 0.0)
    pairs = [*zip((series[number] for number in numbers), changes, strict=True)]
    ways = [int(entry.direction) * change for entry, change in pairs]
    return {
        "size": len(numbers),
        "worse": sum(way < 0 for way in ways),
        "better": sum(way > 0 for way in ways),
        "percent": median(changes),
        "step": cluster.step,
        "regression": cluster.regression,
        "status": cluster.status.value,
        "members": [{"series": str(entry.id), "percent": change} for entry, change in pairs],
    }


def _lines(found: Mapping[str, Sequence[Mapping[str, Any]]], *, every: bool) -> Iterator[str]:
    for project, rows in found.items():
        for row in rows:
            place = place_text(row["commit"], row["order"])
            counts = [f"{row[way]} {way}" for way in ("worse", "better") if row[way]]
            effect = ", ".join(counts) or "direction unknown"
            status = "" if row["status"] == "new" else f", {row['status']}"
            yield printable(
                f"{project or 'no project'}  {place}  {row['size']:,} series: {effect}, "
                f"{change_text(row['percent'])} (median){status}"
            )
            members = row["members"]
            shown = members if every else members[:SHOWN]
            for member in shown:
                yield f"  {printable(member['series'])}  {change_text(member['percent'])}"
            if len(members) > len(shown):
                yield f"  and {len(members) - len(shown):,} more"
