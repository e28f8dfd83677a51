"""A forest as flat arrays: the same bits as scikit-learn, without 500 calls a row.

Nodes lie breadth-first with siblings side by side, so a node is its threshold, its feature and
the place of its right child; the left one stands just before. A leaf's threshold is NaN and its
child itself: a walk that arrives stays, and several rows can walk in step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from barograph.compiled import kernel
from barograph.errors import ArtifactError
from barograph.series import Floats, Ints

Singles = npt.NDArray[np.float32]
LANES = 8


@dataclass(frozen=True)
class FlatForest:
    """All trees of a forest of two classes, one behind another."""

    roots: Ints  # the first node of each tree
    thresholds: Singles
    features: npt.NDArray[np.int32]
    children: npt.NDArray[np.int32]
    shares: Floats  # (nodes, 2): the share of each class among the training rows of a leaf
    columns: int

    @classmethod
    def of(cls, forest: Any) -> FlatForest:
        """Flatten a fitted RandomForestClassifier or ExtraTreesClassifier."""
        parts = [_flatten(estimator.tree_) for estimator in forest.estimators_]
        sizes = np.array([part[0].size for part in parts], dtype=np.int64)
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        children = [part[2] + root for part, root in zip(parts, roots, strict=True)]
        return cls(
            roots=roots,
            thresholds=np.concatenate([part[0] for part in parts]),
            features=np.concatenate([part[1] for part in parts]),
            children=np.concatenate(children).astype(np.int32),
            shares=np.concatenate([part[3] for part in parts]),
            columns=int(forest.n_features_in_),
        )

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the mean share of each class over the trees, one row of two a row."""
        singles = np.ascontiguousarray(matrix, dtype=np.float32)
        out = np.zeros((singles.shape[0], 2))
        walk(singles, self.roots, self.thresholds, self.features, self.children, self.shares, out)
        return out

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what an artifact keeps of it."""
        return {
            "roots": self.roots,
            "thresholds": self.thresholds,
            "features": self.features,
            "children": self.children,
            "shares": self.shares,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], columns: int) -> FlatForest:
        """Take arrays from an artifact: no walk over them may leave them or go in circles."""
        wanted = {
            "roots": (np.int64, 1),
            "thresholds": (np.float32, 1),
            "features": (np.int32, 1),
            "children": (np.int32, 1),
            "shares": (np.float64, 2),
        }
        for name, (dtype, dimensions) in wanted.items():
            if name not in arrays:
                raise ArtifactError(f"the forest misses the array {name!r}; has {sorted(arrays)}")
            found = arrays[name]
            if found.dtype != dtype or found.ndim != dimensions:
                raise ArtifactError(
                    f"array {name!r}: expected {dimensions} dimensions of {np.dtype(dtype)}, "
                    f"got {found.ndim} of {found.dtype}"
                )
        roots, thresholds, features, children, shares = (arrays[name] for name in wanted)
        forest = cls(roots, thresholds, features, children, shares, columns)
        forest._check()
        return forest

    def _check(self) -> None:
        count = self.thresholds.size
        lengths = {self.features.size, self.children.size, self.shares.shape[0]}
        if lengths != {count} or self.shares.shape[1:] != (2,) or not self.roots.size:
            raise ArtifactError(f"the arrays of the forest do not fit together: {count} nodes")
        if self.roots[0] != 0 or np.any(np.diff(self.roots) <= 0) or self.roots[-1] >= count:
            raise ArtifactError(f"the roots must rise from 0 and stay below {count}")
        node = np.arange(count)
        leaf = np.isnan(self.thresholds)
        end = np.append(self.roots[1:], count)[np.searchsorted(self.roots, node, "right") - 1]
        # The left child stands one before the right one, so a right child is two further or more:
        # every step goes forward, and no walk is endless.
        inner = (self.children >= node + 2) & (self.children < end)
        wrong = np.flatnonzero(~np.where(leaf, self.children == node, inner))
        if wrong.size:
            at = int(wrong[0])
            raise ArtifactError(f"node {at} has the child {self.children[at]}: out of its tree")
        if np.any((self.features < 0) | (self.features >= self.columns)):
            raise ArtifactError(f"a node asks for a feature outside 0 to {self.columns - 1}")
        if not np.all(np.isfinite(self.thresholds[~leaf])) or not np.all(
            (self.shares >= 0) & (self.shares <= 1)
        ):
            raise ArtifactError("a threshold is infinite, or a share lies outside 0 to 1")


def _flatten(tree: Any) -> tuple[Singles, npt.NDArray[np.int32], Ints, Floats]:
    """Lay one tree breadth-first, siblings side by side."""
    order = [0]
    place = np.zeros(tree.node_count, dtype=np.int64)
    for node in order:  # grows while it is read: that is the breadth-first walk
        left, right = tree.children_left[node], tree.children_right[node]
        if left >= 0:
            place[left], place[right] = len(order), len(order) + 1
            order += [left, right]
    laid = np.array(order)
    inner = tree.children_left[laid] >= 0
    child = np.where(inner, place[tree.children_right[laid]], place[laid])
    feature = np.where(inner, tree.feature[laid], 0).astype(np.int32)
    threshold = np.where(inner, _rounded_down(tree.threshold[laid]), np.float32(np.nan))
    return threshold.astype(np.float32), feature, child, tree.value[laid, 0, :]


def _rounded_down(thresholds: Floats) -> Singles:
    """Round to the float32 below: `x <= t` stays the same for every float32 x."""
    near = thresholds.astype(np.float32)
    below = np.nextafter(near, np.float32(-np.inf))
    return np.where(near.astype(np.float64) > thresholds, below, near)


@kernel
def walk(
    matrix: Singles,
    roots: Ints,
    thresholds: Singles,
    features: npt.NDArray[np.int32],
    children: npt.NDArray[np.int32],
    shares: Floats,
    out: Floats,
) -> None:
    """Sum the shares of the leaves in tree order, as scikit-learn does, then divide."""
    rows = matrix.shape[0]
    at = np.empty(LANES, dtype=np.int64)
    for first in range(0, rows, LANES):
        lanes = min(LANES, rows - first)
        for root in roots:
            at[:] = root
            moving = True
            while moving:
                moving = False
                for lane in range(lanes):
                    node = at[lane]
                    child = children[node]
                    step = child - (matrix[first + lane, features[node]] <= thresholds[node])
                    moving |= step != node
                    at[lane] = step
            for lane in range(lanes):
                out[first + lane, 0] += shares[at[lane], 0]
                out[first + lane, 1] += shares[at[lane], 1]
    out /= roots.size
