"""Step functions fitted to the shapes of traces, and to clusters of them (Skia)."""

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.detection.base import Detector, RawChangePoint, require
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel
from barograph.runtime.errors import DataError
from barograph.runtime.extras import needed

SD_FLOOR = 1e-3
ROUNDING = 1e-12  # the error of an exact step is 0; errors below this are rounding
BEST = 20
REACH = 5  # commits that a cluster may move between two runs
FRAGMENT = 2  # commits between the steps of fragments of one cluster
MOST_CLUSTERS = 50
# A centroid of n traces with a step of d noise units has R near n d sqrt(1 + d^2 / 4): Skia's 150,
# meant for large clusters, is a step of 2 from 50 members on. Without any step, R is at most 1.7
# for each member in noise with heavy tails or memory (20 to 200 traces of 250 commits).
CUTOFF, CUTOFF_OF_MEMBER = 150.0, 2.5


@dataclass(frozen=True)
class StepFit(Detector):
    """Fit step functions to windows of a trace.

    Each window is normalised and fitted with the best step function. If |step / fit| exceeds
    `threshold`, the first point of the new level is a change point. Windows overlap by half, so
    that each step is away from the edge of a window; a step that two windows agree on is reported
    once. The statistic is the signed regression factor.

    Args:
        window: Points of a window; the paper uses the last 100 to 250 commits.
        threshold: Smallest |step / fit| to report. The paper's 150 needs steps of about 17
            standard deviations of the noise in a single trace; it was chosen for centroids, in
            which noise averages out.
        sd_floor: See `shapes`.

    Example:
        >>> values = [10.0, 10.1, 9.9] * 10 + [20.0, 20.1, 19.9] * 10
        >>> StepFit().fit_predict(values)
        array([30])
    """

    window: int = 250
    threshold: float = 150.0
    sd_floor: float = SD_FLOOR

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.window >= 4, "window", self.window, "at least 4 points")
        require(0 < self.threshold < np.inf, "threshold", self.threshold, "positive and finite")
        require(0 <= self.sd_floor < np.inf, "sd_floor", self.sd_floor, "0 or more, and finite")

    @property
    def shortest(self) -> int:
        """Two points on each side: any two or three points look like a step."""
        return 4

    def find(self, values: Floats) -> list[RawChangePoint]:
        """Return the steps above the threshold, the clearest of equals."""
        best: dict[int, float] = {}
        last = max(values.size - self.window, 0)  # of the starts of windows
        for start in (*range(0, last, self.window // 2), last):
            window = values[None, start : start + self.window]
            step = best_step(shapes(window, self.sd_floor)[0], self.sd_floor)
            index = start + step.turn
            if abs(step.regression) > max(self.threshold, abs(best.get(index, 0.0))):
                best[index] = step.regression
        return [RawChangePoint(index, best[index]) for index in sorted(best)]


@kernel
def shapes(traces: Floats, sd_floor: float) -> Floats:
    """Normalise every row; NaN takes the value before it, or the first value at the start.

    A row whose standard deviation is below `sd_floor` times its mean magnitude is divided by its
    mean magnitude instead, which leaves it nearly flat. The paper's limit has the unit of its
    traces; a share suits every unit. A row without any value becomes 0.
    """
    rows, length = traces.shape
    result = np.zeros((rows, length))
    for row in range(rows):
        shape = result[row]
        first = 0
        while first < length and np.isnan(traces[row, first]):
            first += 1
        if first == length:
            continue
        last = traces[row, first]
        total = 0.0
        for t in range(length):
            if not np.isnan(traces[row, t]):
                last = traces[row, t]
            shape[t] = last
            total += last
        mean = total / length
        magnitude, squares = 0.0, 0.0
        for t in range(length):
            magnitude += abs(shape[t])
            shape[t] -= mean
            squares += shape[t] * shape[t]
        magnitude /= length
        sd = np.sqrt(squares / length)
        width = sd if sd > sd_floor * magnitude else magnitude
        if width > 0.0:
            shape /= width
    return result


class StepFunction(NamedTuple):
    """A step function: first point of the new level, height, squared error, and R."""

    turn: int
    height: float
    fit: float
    regression: float


def best_step(shape: Floats, floor: float) -> StepFunction:
    """Return the step function with the least mean squared error.

    Args:
        shape: At least two values.
        floor: Smallest error to divide by. R = step / fit grows as a shape gets flatter, so that
            without a floor the rounding of a nearly constant trace would look like a step. The
            floor of the standard deviation, used here too, keeps such an R below 16.
    """
    n = shape.size
    before = np.arange(1, n)
    after = n - before
    sums = np.cumsum(shape)
    heights = (sums[-1] - sums[:-1]) / after - sums[:-1] / before
    # The error of two levels is the error of one level minus this gain.
    turn = int(np.argmax(before * after / n * heights**2)) + 1
    left, right = shape[:turn], shape[turn:]
    error = float(((left - left.mean()) ** 2).sum() + ((right - right.mean()) ** 2).sum())
    height = float(right.mean() - left.mean())
    return StepFunction(turn, height, error / n, height / max(error / n, floor, ROUNDING))


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
        order: Order of this commit.
        step: Height of the step, in standard deviations of a trace.
        fit: Squared error of the step function.
        regression: step / fit, with the floor of `best_step`.
        status: Decision of a person; `dataclasses.replace` it, and pass it to the next run.
        current: Whether the latest run found the cluster. Clusters of earlier runs are kept, so
            that their status is known if they appear again.
        key: What the caller knows the cluster by; a new cluster takes that of the known one.
    """

    members: tuple[Hashable, ...]
    centroid: Floats
    index: int
    order: int
    step: float
    fit: float
    regression: float
    status: Status = Status.NEW
    current: bool = True
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
    settings: ClusterSettings | None = None,
) -> list[StepCluster]:
    """Find the steps that many traces have in common.

    Clusters of k-means whose centroids step at the same place in one direction are fragments of
    one cluster, and are joined.

    Args:
        traces: One row per trace, one column per commit. NaN marks a commit that was not
            measured; it takes the value before it. A row without any value is ignored.
        names: Names of the rows, the same in every run. Defaults to their numbers.
        orders: Ascending orders of the columns. Defaults to their numbers.
        settings: How to search.

    Returns:
        The interesting clusters, largest |regression| first. Without traces, or with fewer than
        four commits, there are none.

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
    rows, columns = matrix.shape
    places = np.arange(columns) if orders is None else np.asarray(orders, dtype=np.int64)
    if places.size != columns:
        raise DataError(f"{places.size} orders for {columns} commits: each needs one")
    labels = list(range(rows) if names is None else names)
    if not len(labels) == len(set(labels)) == rows:
        raise DataError(f"{len(set(labels))} names for {rows} traces: each needs its own")
    first = max(columns - settings.span, 0)
    recent = matrix[:, first:]
    measured = np.flatnonzero(~np.isnan(recent).all(axis=1))
    if not measured.size or recent.shape[1] < 4:
        return []
    shaped = shapes(recent[measured], settings.floor)
    named = [labels[row] for row in measured]
    clusters = [
        _cluster(shaped, members, step, named, first, places)
        for members, step in _steps(shaped, settings)
    ]
    return sorted(clusters, key=lambda cluster: -abs(cluster.regression))


def coalesce(
    clusters: Sequence[StepCluster], known: Sequence[StepCluster], orders: Ints
) -> list[StepCluster]:
    """Merge new clusters into known ones that have the same best members and the same step.

    A new cluster equals a known one if it holds the 20 members nearest to the known centroid (all
    members if there are fewer): "if they have the same traces as the 20 best traces". Its step must
    also have the same direction and be near: a later or opposite change of the same traces is
    another one, whatever people decided about the first.

    Args:
        clusters: What `cluster_steps` returned.
        known: The result of the previous run, with the statuses given since.
        orders: The orders of the columns that were searched.

    Returns:
        The clusters, each with the status of the known cluster that it is; then the known clusters
        that did not appear.
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


def _is_near(new: StepCluster, old: StepCluster, orders: Ints) -> bool:
    """Return whether two clusters step in one direction, at most REACH commits apart."""
    is_recent = old.order >= orders[0] and (new.step > 0) == (old.step > 0)
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
        k = next((k for k, (_, other) in enumerate(joined) if _is_part(step, other)), len(joined))
        both = np.sort(np.concatenate([*(whole for whole, _ in joined[k : k + 1]), rows]))
        joined[k : k + 1] = [(both, step_of(both))]
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
    orders: Ints,
) -> StepCluster:
    """Return the cluster of these rows; its centroid is summed in the order of the rows."""
    members = shaped[rows]
    centroid: Floats = members.mean(axis=0)
    nearest = rows[np.argsort(((members - centroid) ** 2).sum(axis=1), kind="stable")]
    labels, index = tuple(names[row] for row in nearest), first + step.turn
    return StepCluster(labels, centroid, index, int(orders[index]), *step[1:])
