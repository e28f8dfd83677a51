import pytest

from barograph.detection.stepfit import ClusterSettings, Status
from barograph.errors import DataError
from barograph.store import Measurement, Store
from barograph.triage import clusters
from tests.store.samples import series

NAMES = [f"s{k}" for k in range(12)]


def step(store: Store, first: int, last: int, at: int, *, commits: bool) -> None:
    store.ingest(
        [
            Measurement(
                series(name),
                (2.0 if order >= at and k < 8 else 1.0) + 0.001 * ((order * (k + 3)) % 7),
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


def test_project_without_points_has_no_clusters(store: Store) -> None:
    assert clusters.recluster(store, "nobody") == []
    with pytest.raises(DataError, match="no cluster 5"):
        store.write(lambda connection: clusters.set_status(connection, 5, Status.IGNORED, "ann"))
