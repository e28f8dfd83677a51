from collections.abc import Hashable, Iterable
from typing import Any

import pytest
import sqlalchemy as sa

from barograph.detection.stepfit import ClusterSettings, Status, StepCluster, cluster_steps
from barograph.runtime.errors import DataError
from barograph.server.store import Measurement, Store, life
from barograph.server.triage import clusters
from tests.store.samples import series

SEARCH = "barograph.server.triage.clusters.cluster_steps"
NAMES = [f"s{k}" for k in range(12)]


def step(store: Store, first: int, last: int, change: int, *, commits: bool) -> None:
    store.ingest(
        [
            Measurement(
                series(name),
                (2.0 if order >= change and k < 8 else 1.0) + 0.001 * ((order * (k + 3)) % 7),
                order,
                f"c{order}" if commits else "",
            )
            for order in range(first, last)
            for k, name in enumerate(NAMES)
        ],
        "ci",
    )


@pytest.mark.parametrize("commits", [True, False])
def test_recluster_keeps_the_status_of_a_common_step(store: Store, commits: bool) -> None:
    step(store, 0, 40, 20, commits=commits)
    [cluster] = clusters.recluster(store, "p", ClusterSettings(k=2))
    assert cluster.order == 20
    assert len(cluster.cluster.members) == 8
    store.write(
        lambda connection: clusters.set_status(connection, cluster.id, Status.REGRESSION, "ann")
    )
    step(store, 40, 44, 20, commits=commits)
    [again] = clusters.recluster(store, "p", ClusterSettings(k=2))
    assert (again.id, again.order, again.cluster.status) == (cluster.id, 20, Status.REGRESSION)


def test_recluster_keeps_old_clusters_as_not_current(store: Store) -> None:
    step(store, 0, 40, 20, commits=True)
    [cluster] = clusters.recluster(store, "p", ClusterSettings(k=2))
    assert clusters.recluster(store, "p", ClusterSettings(k=2, span=15)) == []
    with store.read() as connection:
        [kept] = clusters.of_project(connection, "p")
    assert kept.id == cluster.id
    assert not kept.cluster.current


def delete(store: Store, numbers: Iterable[Hashable]) -> None:
    def work(connection: sa.Connection) -> None:
        for number in numbers:
            life.delete(connection, int(str(number)), "ann")

    store.write(work)


def test_ignored_cluster_goes_with_its_last_series(store: Store) -> None:
    step(store, 0, 40, 20, commits=True)
    [cluster] = clusters.recluster(store, "p", ClusterSettings(k=2))
    store.write(lambda c: clusters.set_status(c, cluster.id, Status.IGNORED, "ann"))
    delete(store, cluster.cluster.members)
    moved = [
        Measurement(series(f"n{k}"), 1.0 + (order >= 22), order, f"c{order}")
        for order in range(40)
        for k in range(8)
    ]
    store.ingest(moved, "ci")
    [other] = clusters.recluster(store, "p", ClusterSettings(k=2))
    assert (other.order, other.cluster.status) == (22, Status.NEW)
    with store.read() as connection:
        assert [row.id for row in clusters.of_project(connection, "p")] == [other.id]


def test_series_that_is_deleted_during_the_search_is_in_no_cluster(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    step(store, 0, 40, 20, commits=True)

    def deleting(*args: Any, **more: Any) -> list[StepCluster]:
        steps = cluster_steps(*args, **more)
        delete(store, steps[0].members[:3])
        return steps

    monkeypatch.setattr(SEARCH, deleting)
    [cluster] = clusters.recluster(store, "p", ClusterSettings(k=2))
    assert len(cluster.cluster.members) == 5


def test_status_that_is_set_during_the_search_of_two_processes_is_kept(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    step(store, 0, 40, 20, commits=True)

    def overtaken(*args: Any, **more: Any) -> list[StepCluster]:
        monkeypatch.setattr(SEARCH, cluster_steps)
        [cluster] = clusters.recluster(store, "p", ClusterSettings(k=2))
        store.write(lambda c: clusters.set_status(c, cluster.id, Status.IGNORED, "ann"))
        return cluster_steps(*args, **more)

    monkeypatch.setattr(SEARCH, overtaken)
    [cluster] = clusters.recluster(store, "p", ClusterSettings(k=2))
    assert cluster.cluster.status is Status.IGNORED
    with store.read() as connection:
        assert [row.id for row in clusters.of_project(connection, "p")] == [cluster.id]


def test_project_without_points_has_no_clusters(store: Store) -> None:
    assert clusters.recluster(store, "nobody") == []
    with pytest.raises(DataError, match="no cluster 5"):
        store.write(lambda connection: clusters.set_status(connection, 5, Status.IGNORED, "ann"))
