"""Clusters: steps that many series of a project have in common (Skia), kept between runs."""

import json
from collections.abc import Hashable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from barograph.detection.stepfit import (
    ClusterSettings,
    Status,
    StepCluster,
    cluster_steps,
    coalesce,
)
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import NotFoundError
from barograph.server.store import audit
from barograph.server.store.audit import now
from barograph.server.store.database import rows_in
from barograph.server.store.schema import clusters, commits, points, series
from barograph.server.store.store import Store


class Cluster(NamedTuple):
    """A cluster in the store; its members are numbers of series, and it steps at `order`."""

    id: int
    project: str
    order: int
    cluster: StepCluster


def recluster(store: Store, project: str, settings: ClusterSettings | None = None) -> list[Cluster]:
    """Search the last commits for common steps, and merge them into the stored clusters.

    Args:
        store: The store.
        project: The project whose series are searched.
        settings: How to search.

    Returns:
        The clusters of this search, the largest regression first.
    """
    settings = settings or ClusterSettings()
    with store.read() as connection:
        numbers, orders, values = _traces(connection, project, settings.span)
    latest = cluster_steps(values, numbers, orders=orders, settings=settings)

    def work(connection: sa.Connection) -> None:
        # Meanwhile series may have been deleted, and another process may have stored clusters.
        left = frozenset[Hashable](_numbers(connection, project))
        known = [row.cluster for row in of_project(connection, project)]
        old = sa.and_(clusters.c.project == project, clusters.c.current)
        connection.execute(sa.update(clusters).where(old).values(current=False))
        for cluster in coalesce(latest, known, orders):
            members = tuple(filter(left.__contains__, cluster.members))
            if cluster.current and members:
                _write(connection, project, replace(cluster, members=members))

    store.write(work)
    with store.read() as connection:
        return [cluster for cluster in of_project(connection, project) if cluster.cluster.current]


def of_project(connection: sa.Connection, project: str) -> list[Cluster]:
    """Return the clusters of a project, those of the latest search first, by regression."""
    every = find(connection, project=project, current=None, limit=None)
    return sorted(every, key=lambda row: (not row.cluster.current, -abs(row.cluster.regression)))


def find(
    connection: sa.Connection,
    *,
    project: str | None = None,
    current: bool | None = True,
    after: int = 0,
    limit: int | None = 100,
) -> list[Cluster]:
    """Return clusters by ascending number.

    Args:
        connection: A connection from `Store.read`.
        project: Only clusters of this project.
        current: Only clusters that the latest search found; None for all.
        after: The number of the last cluster of the previous page.
        limit: Maximum number of clusters; None for all.
    """
    c = clusters.c
    query = sa.select(clusters).where(c.id > after).order_by(c.id).limit(limit)
    for column, value in ((c.project, project), (c.current, current)):
        if value is not None:
            query = query.where(column == value)
    return [_cluster(row) for row in connection.execute(query)]


def get(connection: sa.Connection, number: int) -> Cluster:
    """Return a cluster by its number."""
    row = connection.execute(sa.select(clusters).where(clusters.c.id == number)).first()
    if row is None:
        raise NotFoundError(f"there is no cluster {number}")
    return _cluster(row)


def set_status(connection: sa.Connection, cluster: int, status: Status, who: str) -> None:
    """Record a person's status for a cluster, which it keeps in later searches."""
    update = sa.update(clusters).where(clusters.c.id == cluster)
    if not connection.execute(update.values(status=status.value)).rowcount:
        raise NotFoundError(f"there is no cluster {cluster}")
    audit.note(connection, now(), who, "cluster", f"cluster {cluster}", status=status.value)


def _cluster(row: sa.Row[tuple[object, ...]]) -> Cluster:
    shape = StepCluster(
        members=tuple(json.loads(row.members)),
        centroid=np.array(json.loads(row.centroid)),
        index=0,  # only meant for the traces of its search
        order=row.order,
        key=row.id,
        step=row.step,
        fit=row.fit,
        regression=row.regression,
        status=Status(row.status),
        current=row.current,
    )
    return Cluster(row.id, row.project, row.order, shape)


def _write(connection: sa.Connection, project: str, cluster: StepCluster) -> None:
    row = {
        "project": project,
        "order": cluster.order,
        "members": json.dumps(list(cluster.members)),
        "centroid": json.dumps(cluster.centroid.tolist()),
        "step": cluster.step,
        "fit": cluster.fit,
        "regression": cluster.regression,
        "current": True,
    }
    if cluster.key is None:
        connection.execute(sa.insert(clusters), {**row, "status": cluster.status.value})
    else:  # keep the status: a person may have set it meanwhile
        connection.execute(sa.update(clusters).where(clusters.c.id == cluster.key).values(**row))


def _traces(connection: sa.Connection, project: str, span: int) -> tuple[list[int], Ints, Floats]:
    """Return the results of a project at its last commits.

    Returns:
        The numbers of the series, the orders of the commits, and the settled values: a row for each
        series and a column for each commit, NaN where a result is missing.
    """
    numbers = _numbers(connection, project)
    orders = _orders(connection, project, span)
    table = np.full((len(numbers), orders.size), np.nan)
    rows, columns = ({key: k for k, key in enumerate(keys)} for keys in (numbers, orders.tolist()))
    p = points.c
    query = sa.select(p.series, p.order, p.settled).where(p.settled.is_not(None))
    for number, order, value in rows_in(
        connection, query.where(p.order >= min(columns, default=0)), p.series, numbers
    ):
        if order in columns:
            table[rows[number], columns[order]] = value
    measured = ~np.isnan(table).all(axis=0)
    return numbers, orders[measured], table[:, measured]


def _numbers(connection: sa.Connection, project: str) -> list[int]:
    query = sa.select(series.c.id).where(series.c.project == project).order_by(series.c.id)
    return list(connection.scalars(query))


def _orders(connection: sa.Connection, project: str, span: int) -> Ints:
    """Return the last orders of a project: those of its named commits, or the last integers."""
    c = commits.c
    named = sa.select(c.order).where(c.project == project).distinct().order_by(c.order.desc())
    if orders := connection.scalars(named.limit(span)).all():
        return np.array(orders[::-1], dtype=np.int64)
    of_one = sa.select(sa.func.max(points.c.order)).where(points.c.series == series.c.id)
    of_all = sa.select(sa.func.max(of_one.scalar_subquery())).where(series.c.project == project)
    last = connection.scalar(of_all)
    if last is None:
        return np.empty(0, dtype=np.int64)
    return np.arange(last - span + 1, last + 1)
