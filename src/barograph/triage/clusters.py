"""Steps that many series of a project have in common, kept from run to run (Skia)."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import sqlalchemy as sa

from barograph.detection.stepfit import Status, StepCluster, cluster_steps
from barograph.detection.stepfit.clusters import BEST
from barograph.errors import DataError
from barograph.series import Floats, Ints
from barograph.store import audit
from barograph.store.clock import now
from barograph.store.schema import clusters, commits, series
from barograph.store.shelf import ALL, BOTH
from barograph.store.store import Store

SPAN = 250  # commits of one look
CHUNK = 500  # series in one question


class Cluster(NamedTuple):
    """A cluster as the store has it; `members` are numbers of series, `order` is where it steps."""

    id: int
    project: str
    order: int
    cluster: StepCluster


def recluster(
    store: Store, project: str, *, span: int = SPAN, k: int = 50, threshold: float = 150.0
) -> list[Cluster]:
    """Look for common steps over the last commits, and fold them into the stored clusters.

    Returns:
        The clusters that this look found, the most interesting first.
    """
    with store.read() as connection:
        numbers, orders, traces = _traces(connection, project, span)
        known = stored(connection, project)
    found = cluster_steps(
        traces, numbers, known=[one.cluster for one in known], k=k, threshold=threshold
    )
    at = now()

    def work(connection: sa.Connection) -> None:
        old = sa.and_(clusters.c.project == project, clusters.c.current)
        connection.execute(sa.update(clusters).where(old).values(current=False))
        left = list(known)
        for one in found:
            if one.current:
                _write(connection, project, int(orders[one.index]), one, _known(one, left), at)

    store.write(work)
    with store.read() as connection:
        return [one for one in stored(connection, project) if one.cluster.current]


def stored(connection: sa.Connection, project: str) -> list[Cluster]:
    """Return the clusters of a project: those of the latest look first, by their size."""
    c = clusters.c
    query = sa.select(clusters).where(c.project == project)
    rows = connection.execute(
        query.order_by(c.current.desc(), sa.func.abs(c.regression).desc(), c.id)
    )
    return [_cluster(row) for row in rows]


def find(
    connection: sa.Connection,
    *,
    project: str | None = None,
    current: bool | None = True,
    after: int = 0,
    limit: int = 100,
) -> list[Cluster]:
    """Return clusters, in the order of their numbers.

    Args:
        connection: from `Store.read`.
        project: only those of this project.
        current: only those that the latest look found; None for all.
        after: the number of the last cluster of the page before.
        limit: how many.
    """
    c = clusters.c
    query = sa.select(clusters).where(c.id > after)
    if project is not None:
        query = query.where(c.project == project)
    if current is not None:
        query = query.where(c.current == current)
    return [_cluster(row) for row in connection.execute(query.order_by(c.id).limit(limit))]


def one_cluster(connection: sa.Connection, number: int) -> Cluster:
    """Return a cluster by its number."""
    row = connection.execute(sa.select(clusters).where(clusters.c.id == number)).first()
    if row is None:
        raise DataError(f"there is no cluster {number}")
    return _cluster(row)


def judge(connection: sa.Connection, cluster: int, status: Status, who: str) -> None:
    """Record what somebody says of a cluster; it keeps it when it appears again."""
    mine = sa.update(clusters).where(clusters.c.id == cluster)
    if not connection.execute(mine.values(status=status.value)).rowcount:
        raise DataError(f"there is no cluster {cluster}")
    audit.note(connection, now(), who, "cluster", f"cluster {cluster}", status=status.value)


def _cluster(row: sa.Row[tuple[object, ...]]) -> Cluster:
    shape = StepCluster(
        members=tuple(json.loads(row.members)),
        centroid=np.array(json.loads(row.centroid)),
        index=0,  # a place in the traces of that time
        step=row.step,
        fit=row.fit,
        regression=row.regression,
        status=Status(row.status),
        current=row.current,
    )
    return Cluster(row.id, row.project, row.order, shape)


def _known(found: StepCluster, left: list[Cluster]) -> int | None:
    """Return the stored cluster that a found one is: it holds its best members."""
    members = frozenset(found.members)
    for one in left:
        if members.issuperset(one.cluster.members[:BEST]):
            left.remove(one)
            return one.id
    return None


def _write(
    connection: sa.Connection,
    project: str,
    order: int,
    found: StepCluster,
    known: int | None,
    at: int,
) -> None:
    row = {
        "project": project,
        "order": order,
        "members": json.dumps(list(found.members)),
        "centroid": json.dumps(found.centroid.tolist()),
        "step": found.step,
        "fit": found.fit,
        "regression": found.regression,
        "current": True,
        "found": at,
    }
    if known is None:
        connection.execute(sa.insert(clusters), {**row, "status": found.status.value})
    else:  # its status is that of the store: somebody may have set it since
        connection.execute(sa.update(clusters).where(clusters.c.id == known).values(**row))


def _traces(connection: sa.Connection, project: str, span: int) -> tuple[list[int], Ints, Floats]:
    """Return the series of a project, the last orders, and the values as a table, NaN in gaps."""
    mine = sa.select(series.c.id).where(series.c.project == project).order_by(series.c.id)
    numbers = list(connection.scalars(mine))
    orders = _orders(connection, project, numbers, span)
    sums = np.zeros((len(numbers), orders.size))
    counts = np.zeros((len(numbers), orders.size), dtype=np.int32)
    p = ALL.c
    for first in range(0, len(numbers) if orders.size else 0, CHUNK):
        some = numbers[first : first + CHUNK]
        rows = connection.execute(
            sa.select(p.series, p.order, p.value).where(
                p.series.in_(some), p.order >= int(orders[0])
            )
        ).all()
        places = np.searchsorted(orders, np.array([row[1] for row in rows], dtype=np.int64))
        for (number, order, value), place in zip(rows, places.tolist(), strict=True):
            if place < orders.size and orders[place] == order:
                row = first + int(np.searchsorted(some, number))
                sums[row, place] += value
                counts[row, place] += 1
    measured = counts.any(axis=0)
    with np.errstate(invalid="ignore"):
        means: Floats = sums[:, measured] / counts[:, measured]
    return numbers, orders[measured], means


def _orders(connection: sa.Connection, project: str, numbers: Sequence[int], span: int) -> Ints:
    """The last orders of a project: those of its commits, or all numbers where none is named."""
    c = commits.c
    named = connection.scalars(
        sa.select(c.order)
        .where(c.project == project)
        .distinct()
        .order_by(c.order.desc())
        .limit(span)
    ).all()
    if named:
        return np.array(named[::-1], dtype=np.int64)
    lasts = [_last_order(connection, project, table) for table in BOTH]
    known = [last for last in lasts if last is not None]
    if not known or not numbers:
        return np.empty(0, dtype=np.int64)
    return np.arange(max(known) - span + 1, max(known) + 1)


def _last_order(connection: sa.Connection, project: str, table: sa.Table) -> int | None:
    of_one = sa.select(sa.func.max(table.c.order)).where(table.c.series == series.c.id)
    of_all = sa.select(sa.func.max(of_one.scalar_subquery())).where(series.c.project == project)
    last: int | None = connection.scalar(of_all)
    return last
