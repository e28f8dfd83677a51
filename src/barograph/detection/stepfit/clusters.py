"""Clusters of traces: k-means on their shapes, and a step for each centroid (Skia)."""

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import get_args

import numpy as np
import numpy.typing as npt

from barograph.detection.base import allowed, require
from barograph.detection.numerics import power_of_two
from barograph.detection.stepfit.step import SD_FLOOR, Fit, best_step, shapes
from barograph.errors import DataError
from barograph.extras import needed
from barograph.series import Floats, Ints

BEST = 20


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
    """

    members: tuple[Hashable, ...]
    centroid: Floats
    index: int
    step: float
    fit: float
    regression: float
    status: Status = Status.NEW
    current: bool = True


def cluster_steps(
    traces: npt.ArrayLike,
    names: Sequence[Hashable] | None = None,
    *,
    known: Sequence[StepCluster] = (),
    k: int = 50,
    threshold: float = 150.0,
    fit: Fit = "mean",
    sd_floor: float = SD_FLOOR,
    seed: int = 0,
) -> list[StepCluster]:
    """Find the steps that many traces have in common.

    Args:
        traces: One row per trace, one column per commit. NaN marks a commit that was not
            measured; it takes the value before it. A row without any value is ignored.
        names: Names of the rows, the same in every run. Defaults to their numbers.
        known: Result of the previous run, with the statuses given since.
        k: Number of clusters, at most one per trace.
        threshold: Smallest |step / fit| of an interesting cluster.
        fit: "mean" squared error, or the "sum" of the paper's definition.
        sd_floor: See `shapes`.
        seed: Seed of the first centroids.

    Returns:
        The interesting clusters, largest |regression| first, each with the status of the known
        cluster whose 20 best members it holds; then the known clusters that did not appear.
        Without traces, or with fewer than four commits, there are no clusters.

    Raises:
        DataError: The traces are not a matrix of numbers, hold an infinity, or do not match the
            names.
    """
    require(k >= 1, "k", k, "at least 1")
    require(0 < threshold < np.inf, "threshold", threshold, "positive and finite")
    require(0 <= sd_floor < np.inf, "sd_floor", sd_floor, "0 or more, and finite")
    allowed("fit", fit, get_args(Fit))
    matrix = _matrix(traces)
    labels = list(range(len(matrix)) if names is None else names)
    if len(labels) != len(matrix) or len(set(labels)) != len(labels):
        raise DataError(
            f"{len(labels)} names, {len(set(labels))} of them different, "
            f"for {len(matrix)} traces: each needs its own"
        )
    measured = np.flatnonzero(~np.isnan(matrix).all(axis=1))
    found: list[StepCluster] = []
    if measured.size and matrix.shape[1] >= 4:
        shaped = shapes(_scaled(matrix[measured]), sd_floor)
        named = [labels[row] for row in measured]
        for rows in _partition(shaped, k, seed):
            cluster = _cluster(shaped, rows, named, fit, sd_floor)
            if abs(cluster.regression) > threshold:
                found.append(cluster)
    found.sort(key=lambda cluster: -abs(cluster.regression))
    return coalesce(found, known)


def coalesce(found: Sequence[StepCluster], known: Sequence[StepCluster]) -> list[StepCluster]:
    """Merge new clusters into known ones that have the same best members.

    A new cluster equals a known one if it holds the 20 members nearest to the known centroid (all
    members if there are fewer): "if they have the same traces as the 20 best traces".
    """
    held = [frozenset(cluster.members) for cluster in found]
    merged = list(found)
    kept: list[StepCluster] = []
    for old in known:
        best = frozenset(old.members[:BEST])
        # Clusters share no trace, so at most one of them holds the best members.
        again = next((number for number, members in enumerate(held) if best <= members), None)
        if again is None:
            kept.append(replace(old, current=False))
        elif merged[again].status is Status.NEW:
            merged[again] = replace(merged[again], status=old.status)
    return merged + kept


def _matrix(traces: npt.ArrayLike) -> Floats:
    try:
        matrix = np.ascontiguousarray(traces, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the traces must be rows of numbers of equal length: {error}") from None
    if matrix.shape == (0,):
        return matrix.reshape(0, 0)
    if matrix.ndim != 2:
        raise DataError(
            f"the traces have {matrix.ndim} dimensions: rows are traces, columns commits"
        )
    if np.isinf(matrix).any():
        row, column = np.argwhere(np.isinf(matrix))[0]
        raise DataError(f"trace {row} is infinite at commit {column}: give a number, or NaN")
    return matrix


def _scaled(matrix: Floats) -> Floats:
    """Divide each row by a power of two, so that no square overflows."""
    units = np.array([power_of_two(row[~np.isnan(row)]) for row in matrix])
    scaled: Floats = matrix / units[:, None]
    return scaled


def _partition(shaped: Floats, k: int, seed: int) -> list[Ints]:
    """Return the rows of each cluster of a k-means on the shapes."""
    with needed("clustering", "detectors"):
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

    means = KMeans(min(k, len(shaped)), n_init=1, random_state=seed)
    with warnings.catch_warnings():
        # With fewer different shapes than clusters, some clusters are empty. That is no error.
        warnings.simplefilter("ignore", ConvergenceWarning)
        cluster_of = means.fit_predict(shaped)
    return [np.flatnonzero(cluster_of == number) for number in np.unique(cluster_of)]


def _cluster(
    shaped: Floats, rows: Ints, names: Sequence[Hashable], fit: Fit, floor: float
) -> StepCluster:
    """Return the cluster of these rows; its centroid is summed in the order of the rows."""
    members = shaped[rows]
    centroid: Floats = members.mean(axis=0)
    nearest = rows[np.argsort(((members - centroid) ** 2).sum(axis=1), kind="stable")]
    step = best_step(centroid, fit, floor)
    return StepCluster(
        members=tuple(names[row] for row in nearest),
        centroid=centroid,
        index=step.turn,
        step=step.height,
        fit=step.fit,
        regression=step.regression,
    )
