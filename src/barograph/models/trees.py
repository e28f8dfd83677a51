"""Forests and boosted trees as flat arrays, and the kernels that walk them.

The nodes of all trees lie in one array. The left child of a node comes just before the right one,
whose index the node has. A leaf has the threshold NaN and is its own child. Predictions of forests
are equal to scikit-learn's to the bit. Boosted trees add up in float32, as XGBoost's do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from barograph.models.artifact import Arrays, check_range, typed_array
from barograph.models.calibration import expit, logit
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel, kernel_or
from barograph.runtime.errors import ArtifactError, ConfigError

Singles = npt.NDArray[np.float32]
# One record a node, so that a step reads one place in memory.
NODE = np.dtype([("threshold", np.float32), ("child", np.int32), ("feature", np.int32)])
Nodes = npt.NDArray[np.void]
# A tree as its library stores it: the left child of each node, -1 for a leaf, the right one, its
# feature, its threshold (left where the value is not above), and its values (one or two columns).
Tree = tuple[
    npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.float32], npt.NDArray[Any]
]
TOGETHER = 16  # trees that a row walks in step; a single walk takes up to five times as long


@dataclass(frozen=True)
class Trees:
    """The nodes of all trees, one tree after the other.

    Attributes:
        roots: The first node of each tree.
        nodes: Records of the type NODE.
        values: Those of leaves add up to a prediction; those of inner nodes are for the reasons.
    """

    roots: Ints
    nodes: Nodes
    values: npt.NDArray[Any]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in a model file, except the values."""
        names = {"thresholds": "threshold", "features": "feature", "children": "child"}
        columns = {name: self.nodes[field].copy() for name, field in names.items()}
        return {"roots": self.roots, **columns}

    def _add_leaves(self, matrix: Floats, out: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Add the values of the leaves to `out` in the order of the trees, as the libraries do."""
        add_leaves(singles(matrix), self.roots, self.nodes, self.values, out)
        return out

    def _steps(self, matrix: Floats) -> Floats:
        """Return by feature how much the steps of all walks change the last value (Saabas)."""
        out = np.zeros(matrix.shape)
        add_steps(singles(matrix), self.roots, self.nodes, self.values, out)
        return out


@dataclass(frozen=True)
class Forest(Trees):
    """A forest of two classes; the values of a node are the share of each class."""

    kind: ClassVar[str] = "forest"

    @classmethod
    def of(cls, forest: Any) -> Forest:
        """Convert a fitted RandomForestClassifier or ExtraTreesClassifier."""
        trees = (
            (
                t.children_left,
                t.children_right,
                t.feature,
                _rounded_down(t.threshold),
                t.value[:, 0],
            )
            for t in (estimator.tree_ for estimator in forest.estimators_)
        )
        return cls(*_joined(trees))

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the mean share of noise and of real changes over the trees."""
        # Summed in the order of the trees, then divided: bit-equal to scikit-learn.
        shares: Floats = self._add_leaves(matrix, np.zeros((matrix.shape[0], 2)))
        return shares / self.roots.size

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return the mean share at the roots, and each feature's part along the paths."""
        base = float(self.values[self.roots, 1].mean())
        return base, self._steps(matrix) / self.roots.size

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in a model file."""
        return {**super().arrays(), "shares": self.values}

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> Forest:
        """Restore the model from the arrays of a file."""
        shares = typed_array(arrays, "shares", np.float64, 2)
        if shares.shape[1] != 2:
            raise ArtifactError(f"array 'shares': expected two classes, got {shares.shape[1]}")
        check_range("shares", shares)
        return cls(*_checked_nodes(arrays, shares.shape[0], columns), shares)


@dataclass(frozen=True)
class Boosted(Trees):
    """Trees whose leaves add up to the log-odds of a real change, from `base` on."""

    kind: ClassVar[str] = "boosted"
    base: np.float32

    @classmethod
    def of(cls, model: Any) -> Boosted:
        """Convert a fitted XGBClassifier of two classes."""
        learner = json.loads(model.get_booster().save_raw("json"))["learner"]
        booster, objective = learner["gradient_booster"], learner["objective"]["name"]
        if (booster["name"], objective) != ("gbtree", "binary:logistic"):
            raise ConfigError(
                "boosted trees must be gbtree with binary:logistic, "
                f"not {booster['name']} with {objective}"
            )
        # A probability; XGBoost writes it as a list since 3.1.
        share = float(learner["learner_model_param"]["base_score"].strip("[]"))
        trees = map(_tree_of_xgboost, booster["model"]["trees"])
        return cls(*_joined(trees), np.float32(logit(share)))

    def followed_by(self, more: Boosted) -> Boosted:
        """Return the trees of both models, from the base of this one on."""
        count, nodes = self.nodes.size, more.nodes.copy()
        nodes["child"] += count
        return Boosted(
            np.concatenate([self.roots, more.roots + count]),
            np.concatenate([self.nodes, nodes]),
            np.concatenate([self.values, more.values]),
            self.base,
        )

    def margin(self, matrix: Floats) -> Singles:
        """Return the log-odds."""
        return self._add_leaves(matrix, np.full((matrix.shape[0], 1), self.base))[:, 0]

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the probability of noise and of a real change."""
        real = expit(self.margin(matrix))
        return np.column_stack([1.0 - real, real])

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return the probability at the roots, and each feature's part along the paths.

        The steps in log-odds become parts of the probability in the same proportions. Where they
        cancel out, the slope of the logistic curve at the roots is used.
        """
        roots = self.values[self.roots, 0]
        first = float(expit(float(self.base) + float(roots.sum(dtype=np.float64))))
        steps, probability = self._steps(matrix), self.predict_proba(matrix)[:, 1]
        total = steps.sum(axis=1)
        flat = np.abs(total) < 1e-9
        rise = (probability - first) / np.where(flat, 1.0, total)
        slope = np.where(flat, first * (1 - first), rise)
        return first, steps * slope[:, None]

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in a model file."""
        return {**super().arrays(), "margins": self.values, "base": np.array([self.base])}

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> Boosted:
        """Restore the model from the arrays of a file."""
        margins = typed_array(arrays, "margins", np.float32, 2)
        base = typed_array(arrays, "base", np.float32, 1)
        if margins.shape[1] != 1 or base.size != 1:
            raise ArtifactError(
                "arrays 'margins' and 'base': expected one number for each node and one base, "
                f"got the shapes {margins.shape} and {base.shape}"
            )
        if not np.all(np.isfinite(margins)) or not np.isfinite(base[0]):
            raise ArtifactError("arrays 'margins' and 'base': a number is not finite")
        return cls(*_checked_nodes(arrays, margins.shape[0], columns), margins, base[0])


def _rounded_down(thresholds: Floats) -> Singles:
    """Round down to float32, which keeps `x <= t` the same for every float32 x."""
    near = thresholds.astype(np.float32)
    below = np.nextafter(near, np.float32(-np.inf))
    return np.where(near.astype(np.float64) > thresholds, below, near)


def _tree_of_xgboost(tree: dict[str, Any]) -> Tree:
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    if any(tree["split_type"]):
        raise ConfigError("a tree splits on categories; only numeric splits are supported")
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    cover = np.array(tree["sum_hessian"], dtype=np.float64)
    # XGBoost goes left where x < t: the same as where x <= the float32 below t.
    below = np.nextafter(conditions, np.float32(-np.inf))
    values = _means(left, right, conditions.astype(np.float64), cover)[:, None]
    return left, right, np.array(tree["split_indices"]), below, values.astype(np.float32)


def _means(left: npt.NDArray[Any], right: npt.NDArray[Any], leaf: Floats, cover: Floats) -> Floats:
    """Return the values of the leaves, and of inner nodes the mean weighted by cover."""
    means = leaf.copy()
    for node in range(left.size - 1, -1, -1):  # XGBoost numbers children after their parent
        if left[node] >= 0:
            pair = [left[node], right[node]]
            means[node] = np.average(means[pair], weights=cover[pair])
    return means


def _joined(trees: Iterable[Tree]) -> tuple[Ints, Nodes, npt.NDArray[Any]]:
    """Return the roots, and nodes and values tree by tree, breadth-first, siblings side by side."""
    roots, parts, shares, count = [], [], [], 0
    for left, right, features, thresholds, values in trees:
        lefts, rights = left.tolist(), right.tolist()
        order, children = [0], list[int]()
        for node in order:  # the loop appends to the list it reads
            if lefts[node] >= 0:
                order += [lefts[node], rights[node]]
            children.append(len(order) - 1 if lefts[node] >= 0 else len(children))
        inner = left[order] >= 0
        nodes = np.empty(len(order), NODE)
        nodes["threshold"] = np.where(inner, thresholds[order], np.float32(np.nan))
        nodes["child"] = np.array(children) + count
        nodes["feature"] = np.where(inner, features[order], 0)
        roots.append(count)
        parts.append(nodes)
        shares.append(values[order])
        count += len(order)
    return np.array(roots, dtype=np.int64), np.concatenate(parts), np.concatenate(shares)


def _checked_nodes(arrays: Arrays, count: int, columns: int) -> tuple[Ints, Nodes]:
    """Return the roots and the nodes in the arrays of a file.

    Raises:
        ArtifactError: An array is missing or invalid, or a walk could leave the arrays or not end.
    """
    roots = typed_array(arrays, "roots", np.int64, 1)
    thresholds = typed_array(arrays, "thresholds", np.float32, 1)
    features = typed_array(arrays, "features", np.int32, 1)
    children = typed_array(arrays, "children", np.int32, 1)
    if {thresholds.size, features.size, children.size} != {count} or not roots.size:
        raise ArtifactError(f"the arrays of the trees differ in length; expected {count} nodes")
    if roots[0] != 0 or np.any(np.diff(roots) <= 0) or roots[-1] >= count:
        raise ArtifactError(f"the roots must rise from 0 and stay below {count}")
    node = np.arange(count)
    end = np.append(roots[1:], count)[np.searchsorted(roots, node, "right") - 1]
    # The left child comes just before the right one, so the right one is at least two nodes ahead:
    # every step moves forward, and every walk ends.
    inner = (children >= node + 2) & (children < end) & ~np.isinf(thresholds)
    good = np.where(np.isnan(thresholds), children == node, inner)
    good &= (features >= 0) & (features < columns)
    if not good.all():
        k = int(np.argmin(good))
        raise ArtifactError(
            f"node {k} has the child {children[k]}, the feature {features[k]} and the threshold "
            f"{thresholds[k]}, which do not fit its tree and {columns} columns"
        )
    nodes = np.empty(count, NODE)
    nodes["threshold"], nodes["child"], nodes["feature"] = thresholds, children, features
    return roots, nodes


def singles(matrix: Floats) -> Singles:
    """Round to float32, as the libraries do before a walk; numbers too large become infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(matrix, dtype=np.float32)


def _add_leaves_of_arrays(
    rows: Singles, roots: Ints, nodes: Nodes, values: npt.NDArray[Any], out: npt.NDArray[Any]
) -> None:
    """Walk all rows through all trees in step with NumPy: what the kernel does, not compiled."""
    thresholds, children, features = nodes["threshold"], nodes["child"], nodes["feature"]
    row = np.arange(rows.shape[0])[:, None]
    place, child = np.tile(roots, (rows.shape[0], 1)), children[roots][None]
    while (child != place).any():
        place = child - (rows[row, features[place]] <= thresholds[place])
        child = children[place]
    for leaves in place.T:  # one tree after another: the sum depends on the order
        out += values[leaves]


@kernel_or(_add_leaves_of_arrays)
def add_leaves(
    rows: Singles, roots: Ints, nodes: Nodes, values: npt.NDArray[Any], out: npt.NDArray[Any]
) -> None:
    """Add the values of the leaf of each tree to each row.

    A row walks a group of trees in step, because a step mostly waits for memory. The trees of a
    group stay in the cache for all rows.
    """
    # With unsigned indices numba omits the check for negative ones, which halves the time.
    places = np.empty(TOGETHER, dtype=np.uint64)
    last = roots.size - 1
    for first in range(0, roots.size, TOGETHER):
        for row in range(rows.shape[0]):
            for lane in range(TOGETHER):
                places[np.uint64(lane)] = roots[min(first + lane, last)]
            moving = np.uint64(1)
            while moving:
                moving = np.uint64(0)
                for lane in range(TOGETHER):
                    place = places[np.uint64(lane)]
                    node = nodes[place]
                    left = rows[row, np.uint64(node["feature"])] <= node["threshold"]
                    places[np.uint64(lane)] = np.uint64(node["child"]) - np.uint64(left)
                    moving |= np.uint64(node["child"]) ^ place
            for lane in range(min(TOGETHER, roots.size - first)):
                for column in range(values.shape[1]):
                    out[row, column] += values[places[np.uint64(lane)], column]


@kernel
def add_steps(
    rows: Singles, roots: Ints, nodes: Nodes, values: npt.NDArray[Any], out: Floats
) -> None:
    """Add to each feature the changes of the last value at its steps."""
    last = values.shape[1] - 1
    for row in range(rows.shape[0]):
        for root in roots:
            place = np.uint64(root)
            node = nodes[place]
            before = np.float64(values[place, last])
            while np.uint64(node["child"]) != place:
                feature = np.uint64(node["feature"])
                left = rows[row, feature] <= node["threshold"]
                place = np.uint64(node["child"]) - np.uint64(left)
                node = nodes[place]
                value = np.float64(values[place, last])
                out[row, feature] += value - before
                before = value
