"""Clusters of traces: k-means on their shapes, and a step for each centroid (Skia)."""

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from barograph.detection.base import require
from barograph.detection.stepfit.detector import SD_FLOOR, StepFunction, best_step, shapes
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import DataError
from barograph.runtime.extras import needed

BEST = 20
REACH = 5  # commits that a cluster may move between two runs
FRAGMENT = 2  # commits between the steps of fragments of one cluster
MOST_CLUSTERS = 50
# A centroid of n traces with a step of d noise units has R near n d sqrt(1 + d^2 / 4): Skia's 150,
# meant for large clusters, is a step of 2 from 50 members on. Without any step, R is at most 1.7
# for each member in noise with heavy tails or memory (20 to 200 traces of 250 commits).
CUTOFF, CUTOFF_OF_MEMBER = 150.0, 2.5


class Status(StrEnum):
    """What a person decided about a cluster."""

    NEW = "new"
    REGRESSION = "regression"
    IGNORED = "ignored"


@dataclass(frozen=True)
class StepCluster:
    """Traces of one shape that looks like a step.

    Attributes:
        members: Names of the traces, those nearest to the centroid first.
        centroid: Mean of their shapes.
        index: First commit (column) on the new level.
        step: Height of the step, in standard deviations of a trace.
        fit: Squared error of the step function.
        regression: step / fit, with the floor of `best_step`.
        status: Decision of a person; `dataclasses.replace` it, and pass it to the next run.
        current: Whether the latest run found the cluster. Clusters of earlier runs are kept, so
            that their status is known if they appear again.
        order: Order of the commit, if the orders were given.
        key: What the caller knows the cluster by; a new cluster takes that of the known one.
    """

    members: tuple[Hashable, ...]
    centroid: Floats
    index: int
    step: float
    fit: float
    regression: float
    status: Status = Status.NEW
    current: bool = True
    order: int | None = None
    key: Hashable = None


@dataclass(frozen=True)
class ClusterSettings:
    """How clusters of steps are searched for.

    Args:
        k: Number of clusters of the k-means, at most one per trace. None: the square root of the
            number of traces, from 2 to 50.
        cutoff: Smallest |step / fit| of an interesting cluster. None: 2.5 for each member, at
            most 150.
        span: Number of commits to search, the newest ones.
        floor: Noise below this share of the level of a trace counts as none; also the smallest
            squared error. See `shapes`.
        min_members: Smallest number of traces in a cluster.
    """

    k: int | None = None
    cutoff: float | None = None
    span: int = 250
    floor: float = SD_FLOOR
    min_members: int = 3

    def __post_init__(self) -> None:
        require(self.k is None or self.k >= 1, "k", self.k, "at least 1")
        is_usable = self.cutoff is None or 0 < self.cutoff < np.inf
        require(is_usable, "cutoff", self.cutoff, "positive and finite")
        require(self.span >= 4, "span", self.span, "at least 4 commits")
        require(0 <= self.floor < np.inf, "floor", self.floor, "0 or more, and finite")
        require(self.min_members >= 1, "min_members", self.min_members, "at least 1")

    def clusters_of(self, traces: int) -> int:
        """Return the number of clusters to start with."""
        chosen = min(max(2, round(traces**0.5)), MOST_CLUSTERS) if self.k is None else self.k
        return min(chosen, traces)

    def cutoff_of(self, members: int) -> float:
        """Return the smallest |step / fit| of a cluster with some members."""
        return min(CUTOFF_OF_MEMBER * members, CUTOFF) if self.cutoff is None else self.cutoff


def cluster_steps(
    traces: npt.ArrayLike,
    names: Sequence[Hashable] | None = None,
    *,
    orders: Sequence[int] | Ints | None = None,
    known: Sequence[StepCluster] = (),
    settings: ClusterSettings | None = None,
) -> list[StepCluster]:
    """Find the steps that many traces have in common.

    Clusters of k-means whose centroids step at the same place in one direction are fragments of
    one cluster, and are joined.

    Args:
        traces: One row per trace, one column per commit. NaN marks a commit that was not
            measured; it takes the value before it. A row without any value is ignored.
        names: Names of the rows, the same in every run. Defaults to their numbers.
        orders: Ascending orders of the columns. With them, a cluster is only a known one if it
            steps within five commits of it.
        known: Result of the previous run, with the statuses given since.
        settings: How to search.

    Returns:
        The interesting clusters, largest |regression| first, each with the status of the known
        cluster that it is; then the known clusters that did not appear. Without traces, or with
        fewer than four commits, there are no clusters.

    Raises:
        DataError: The traces are not a matrix of numbers, hold an infinity, or do not match the
            names or the orders.

    Example:
        >>> noise = np.random.default_rng(0).normal(100.0, 1.0, (40, 100))
        >>> noise[:25, 60:] += 5.0
        >>> [(len(cluster.members), cluster.index) for cluster in cluster_steps(noise)]
        [(25, 60)]
    """
    settings = settings or ClusterSettings()
    matrix = _matrix(traces)
    places = None if orders is None else np.asarray(orders, dtype=np.int64)
    if places is not None and places.shape != matrix.shape[1:]:
        raise DataError(f"{places.size} orders for {matrix.shape[1]} commits: each needs one")
    labels = list(range(len(matrix)) if names is None else names)
    if not len(labels) == len(set(labels)) == len(matrix):
        raise DataError(f"{len(set(labels))} names for {len(matrix)} traces: each needs its own")
    first = max(matrix.shape[1] - settings.span, 0)
    recent = matrix[:, first:]
    measured = np.flatnonzero(~np.isnan(recent).all(axis=1))
    clusters: list[StepCluster] = []
    if measured.size and recent.shape[1] >= 4:
        shaped = shapes(recent[measured], settings.floor)
        named = [labels[row] for row in measured]
        clusters = [
            _cluster(shaped, rows, step, named, first, places)
            for rows, step in _steps(shaped, settings)
        ]
    clusters.sort(key=lambda cluster: -abs(cluster.regression))
    return coalesce(clusters, known, places)


def coalesce(
    clusters: Sequence[StepCluster], known: Sequence[StepCluster], orders: Ints | None = None
) -> list[StepCluster]:
    """Merge new clusters into known ones that have the same best members and the same step.

    A new cluster equals a known one if it holds the 20 members nearest to the known centroid (all
    members if there are fewer): "if they have the same traces as the 20 best traces". Its step must
    also have the same direction and be near: a later or opposite change of the same traces is
    another one, whatever people decided about the first.
    """
    merged = list(clusters)
    absent: list[StepCluster] = []
    for old in known:
        best = frozenset(old.members[:BEST])
        # Clusters share no trace, so at most one of them holds the best members.
        again = next((k for k, new in enumerate(clusters) if best <= {*new.members}), None)
        if again is None or not _is_near(clusters[again], old, orders):
            absent.append(replace(old, current=False))
        elif merged[again].key is None and merged[again].status is Status.NEW:
            merged[again] = replace(merged[again], status=old.status, key=old.key)
    return merged + absent


def _is_near(new: StepCluster, old: StepCluster, orders: Ints | None) -> bool:
    """Return whether two clusters step in one direction and, if known, at one place."""
    if (new.step > 0) != (old.step > 0):
        return False
    if orders is None or old.order is None or not orders.size:
        return True
    is_recent = old.order >= int(orders[0])
    return is_recent and abs(int(np.searchsorted(orders, old.order)) - new.index) <= REACH


def _matrix(traces: npt.ArrayLike) -> Floats:
    try:
        matrix = np.ascontiguousarray(traces, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the traces must be rows of numbers of equal length: {error}") from None
    if matrix.shape == (0,):
        return matrix.reshape(0, 0)
    if matrix.ndim != 2 or np.isinf(matrix).any():
        raise DataError(
            "the traces must be rows of finite numbers or NaN, a column for each commit"
        )
    return matrix


def _steps(shaped: Floats, settings: ClusterSettings) -> list[tuple[Ints, StepFunction]]:
    """Return the rows of each interesting cluster, and the step function of its centroid."""

    def step_of(rows: Ints) -> StepFunction:
        return best_step(shaped[rows].mean(axis=0), settings.floor)

    parts = _partition(shaped, settings.clusters_of(len(shaped)))
    clear = sorted(((rows, step_of(rows)) for rows in parts), key=lambda p: -abs(p[1].regression))
    joined: list[tuple[Ints, StepFunction]] = []
    for rows, step in clear:
        whole = next((k for k, (_, other) in enumerate(joined) if _is_part(step, other)), None)
        if whole is None:
            joined.append((rows, step))
        else:
            both = np.sort(np.concatenate([joined[whole][0], rows]))
            joined[whole] = both, step_of(both)
    return [
        (stepping, step_of(stepping))
        for rows, step in joined
        if abs(step.regression) > settings.cutoff_of(rows.size)
        and (stepping := _stepping(shaped, rows, step)).size >= settings.min_members
    ]


def _is_part(step: StepFunction, whole: StepFunction) -> bool:
    """Return whether a step is that of a clearer one: same place and direction, half the height."""
    is_there = abs(step.turn - whole.turn) <= FRAGMENT
    return is_there and step.height * whole.height > 0 and 2 * abs(step.height) > abs(whole.height)


def _stepping(shaped: Floats, rows: Ints, step: StepFunction) -> Ints:
    """Return the rows with at least half of the step; k-means also adds some that have none."""
    members = shaped[rows]
    heights = members[:, step.turn :].mean(axis=1) - members[:, : step.turn].mean(axis=1)
    chosen: Ints = rows[2 * heights * np.sign(step.height) > abs(step.height)]
    return chosen


def _partition(shaped: Floats, k: int) -> list[Ints]:
    with needed("clustering", "detectors"):
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

    means = KMeans(k, n_init=1, random_state=0)
    with warnings.catch_warnings():
        # With fewer different shapes than clusters, some clusters are empty. That is no error.
        warnings.simplefilter("ignore", ConvergenceWarning)
        cluster_of = means.fit_predict(shaped)
    return [np.flatnonzero(cluster_of == number) for number in np.unique(cluster_of)]


def _cluster(
    shaped: Floats,
    rows: Ints,
    step: StepFunction,
    names: Sequence[Hashable],
    first: int,
    orders: Ints | None,
) -> StepCluster:
    """Return the cluster of these rows; its centroid is summed in the order of the rows."""
    members = shaped[rows]
    centroid: Floats = members.mean(axis=0)
    nearest = rows[np.argsort(((members - centroid) ** 2).sum(axis=1), kind="stable")]
    index = first + step.turn
    return StepCluster(
        members=tuple(names[row] for row in nearest),
        centroid=centroid,
        index=index,
        step=step.height,
        fit=step.fit,
        regression=step.regression,
        order=None if orders is None else int(orders[index]),
    )
