"""Decision trees as flat arrays, and the kernels that walk them.

The nodes of a tree are stored breadth-first with siblings side by side. A node has a threshold, a
feature and the index of its right child; the left child comes just before it. A leaf has the
threshold NaN and is its own child, so a walk that reaches it stays there, and several walks can
proceed in step. In memory, a node is one 64-bit integer (threshold, distance to the right child,
feature), which keeps a tree in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from barograph.compiled import kernel, kernel_or
from barograph.errors import ArtifactError
from barograph.models.artifact import Arrays, typed_array
from barograph.series import Floats, Ints

Singles = npt.NDArray[np.float32]
Keys = npt.NDArray[np.int32]

FEATURE_BITS = 10
CHILD_BITS = 22  # the threshold takes the other 32 bits
COLUMNS = 1 << FEATURE_BITS
FEATURE_MASK = COLUMNS - 1
LOW_MASK = (1 << (FEATURE_BITS + CHILD_BITS)) - 1
NEVER = np.int32(-(1 << 31))  # below the key of every number, so that no walk goes left at a leaf
LANES = 8  # rows walked in step, whose positions stay in the L1 cache
TOGETHER = 32  # trees walked in step for a single row, to hide the latency of memory
BLOCK = 4096  # rows for which a tree stays in the cache; 512 is three times slower


class Tree(NamedTuple):
    """One tree as its library stores it; a left child of -1 marks a leaf."""

    left: npt.NDArray[Any]
    right: npt.NDArray[Any]
    features: npt.NDArray[Any]
    thresholds: Singles  # go left where the value is not above
    values: npt.NDArray[Any]  # (nodes, 1 or 2)


@dataclass(frozen=True)
class Trees:
    """The nodes of all trees, one tree after the other."""

    roots: Ints  # the first node of each tree
    nodes: Ints
    values: npt.NDArray[Any]  # of the leaves for predictions, of inner nodes for the reasons
    columns: int

    @classmethod
    def of(cls, trees: Iterable[Tree], columns: int) -> Trees:
        """Convert trees to the flat form."""
        parts = [_breadth_first(tree) for tree in trees]
        sizes = np.array([part[0].size for part in parts], dtype=np.int64)
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        children = [part[2] + root for part, root in zip(parts, roots, strict=True)]
        thresholds, features, values = (
            np.concatenate([part[which] for part in parts]) for which in (0, 1, 3)
        )
        nodes = _packed(thresholds, features, np.concatenate(children))
        return cls(roots, nodes, np.ascontiguousarray(values), columns)

    def add(self, matrix: Floats, out: npt.NDArray[Any]) -> None:
        """Add the values of the leaves to `out` in the order of the trees, as the libraries do."""
        keys = keys_of(singles(matrix))
        walk = walk_rows if keys.shape[0] >= LANES else walk_trees
        walk(keys, self.roots, self.nodes, self.values, out)

    def parts(self, matrix: Floats) -> Floats:
        """Return by feature how much the steps of all walks change the last value (Saabas)."""
        out = np.zeros(matrix.shape)
        walk_parts(keys_of(singles(matrix)), self.roots, self.nodes, self.values, out)
        return out

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in an artifact, except the values."""
        low = self.nodes & LOW_MASK
        keys = (self.nodes >> (FEATURE_BITS + CHILD_BITS)).astype(np.int32)
        leaf = keys == NEVER
        return {
            "roots": self.roots,
            "thresholds": np.where(leaf, np.float32(np.nan), _floats_of(keys)),
            "features": (low & FEATURE_MASK).astype(np.int32),
            "children": (np.arange(low.size) + (low >> FEATURE_BITS)).astype(np.int32),
        }

    @classmethod
    def from_arrays(cls, arrays: Arrays, values: npt.NDArray[Any], columns: int) -> Trees:
        """Restore trees from an artifact's arrays.

        Raises:
            ArtifactError: An array is missing or invalid, or a walk could leave the arrays or not
                end.
        """
        roots = typed_array(arrays, "roots", np.int64, 1)
        thresholds = typed_array(arrays, "thresholds", np.float32, 1)
        features = typed_array(arrays, "features", np.int32, 1)
        children = typed_array(arrays, "children", np.int32, 1)
        count = thresholds.size
        if {features.size, children.size, values.shape[0]} != {count} or not roots.size:
            raise ArtifactError(f"the arrays of the trees differ in length; expected {count} nodes")
        if roots[0] != 0 or np.any(np.diff(roots) <= 0) or roots[-1] >= count:
            raise ArtifactError(f"the roots must rise from 0 and stay below {count}")
        if not 0 < columns <= COLUMNS or np.any((features < 0) | (features >= columns)):
            raise ArtifactError(f"a node has a feature outside 0 to {columns - 1}")
        _check_children(roots, thresholds, children)
        return cls(roots, _packed(thresholds, features, children), values, columns)


def _check_children(roots: Ints, thresholds: Singles, children: npt.NDArray[np.int32]) -> None:
    node = np.arange(thresholds.size)
    leaf = np.isnan(thresholds)
    if np.any(np.isinf(thresholds)):
        raise ArtifactError(
            f"the threshold of node {np.flatnonzero(np.isinf(thresholds))[0]} is infinite"
        )
    end = np.append(roots[1:], node.size)[np.searchsorted(roots, node, "right") - 1]
    end = np.minimum(end, node + (1 << CHILD_BITS))
    # The left child comes just before the right one, so the right one is at least two nodes ahead:
    # every step moves forward, and every walk ends.
    inner = (children >= node + 2) & (children < end)
    wrong = np.flatnonzero(~np.where(leaf, children == node, inner))
    if wrong.size:
        first = int(wrong[0])
        raise ArtifactError(
            f"node {first} has the child {children[first]}, which is not in its tree"
        )


def _breadth_first(tree: Tree) -> tuple[Singles, Ints, Ints, npt.NDArray[Any]]:
    """Return one tree breadth-first, with siblings side by side."""
    lefts, rights = tree.left.tolist(), tree.right.tolist()
    order = [0]
    place = np.zeros(len(lefts), dtype=np.int64)
    for node in order:  # the loop appends to the list it reads
        left, right = lefts[node], rights[node]
        if left >= 0:
            place[left], place[right] = len(order), len(order) + 1
            order += [left, right]
    nodes = np.array(order)
    inner = tree.left[nodes] >= 0
    child = np.where(inner, place[tree.right[nodes]], np.arange(nodes.size))
    feature = np.where(inner, tree.features[nodes], 0).astype(np.int64)
    threshold = np.where(inner, tree.thresholds[nodes], np.float32(np.nan)).astype(np.float32)
    return threshold, feature, child, tree.values[nodes]


def _packed(thresholds: Singles, features: npt.NDArray[Any], children: npt.NDArray[Any]) -> Ints:
    distance = children.astype(np.int64) - np.arange(children.size)
    if np.any(features >= COLUMNS) or np.any(distance >= 1 << CHILD_BITS):
        raise ArtifactError(
            f"a tree may have up to {COLUMNS} features and {1 << (CHILD_BITS - 1)} nodes"
        )
    keys = np.where(np.isnan(thresholds), NEVER, keys_of(thresholds)).astype(np.int64)
    high: Ints = keys << (FEATURE_BITS + CHILD_BITS)
    return high | (distance << FEATURE_BITS) | features.astype(np.int64)


def singles(matrix: Floats) -> Singles:
    """Round to float32, as the libraries do before a walk; numbers too large become infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(matrix, dtype=np.float32)


def keys_of(values: Singles) -> Keys:
    """Return integers that compare as the values do; -0.0 equals 0.0."""
    bits = (values + np.float32(0)).view(np.int32)
    return np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)


def _floats_of(keys: Keys) -> Singles:
    """Undo `keys_of`."""
    return np.where(keys < 0, keys ^ np.int32(0x7FFFFFFF), keys).view(np.float32)


def walk_arrays(
    keys: Keys, roots: Ints, nodes: Ints, values: npt.NDArray[Any], out: npt.NDArray[Any]
) -> None:
    """Walk all rows through all trees in step with NumPy: what the kernels do, not compiled."""
    rows = np.arange(keys.shape[0])[:, None]
    places = np.tile(roots, (rows.size, 1))
    while (distance := ((node := nodes[places]) & LOW_MASK) >> FEATURE_BITS).any():
        left = keys[rows, node & FEATURE_MASK] <= node >> (FEATURE_BITS + CHILD_BITS)
        places += distance - left
    for leaves in places.T:  # one tree after another: the sum depends on the order
        out += values[leaves]


@kernel_or(walk_arrays)
def walk_rows(
    keys: Keys, roots: Ints, nodes: Ints, values: npt.NDArray[Any], out: npt.NDArray[Any]
) -> None:
    """Walk groups of eight rows in step through one tree after another.

    There must be at least eight rows.
    """
    # With unsigned indices numba omits the check for negative ones, a measurable gain.
    rows = keys.shape[0]
    places = np.empty(LANES, dtype=np.uint64)
    for start in range(0, rows, BLOCK):
        stop = min(rows, start + BLOCK)
        for root in roots:
            for group in range(start, stop, LANES):
                # The last group overlaps rows that are done already.
                first = np.uint64(min(group, rows - LANES))
                for lane in range(LANES):
                    places[np.uint64(lane)] = root
                moving = np.int64(1)
                while moving:
                    moving = np.int64(0)
                    for lane in range(LANES):
                        place = places[np.uint64(lane)]
                        node = nodes[place]
                        distance = (node & LOW_MASK) >> FEATURE_BITS
                        key = keys[first + np.uint64(lane), np.uint64(node & FEATURE_MASK)]
                        left = key <= (node >> (FEATURE_BITS + CHILD_BITS))
                        places[np.uint64(lane)] = place + np.uint64(distance) - np.uint64(left)
                        moving |= distance
                for lane in range(group - np.int64(first), LANES):
                    for column in range(values.shape[1]):
                        out[first + np.uint64(lane), column] += values[
                            places[np.uint64(lane)], column
                        ]


@kernel_or(walk_arrays)
def walk_trees(
    keys: Keys, roots: Ints, nodes: Ints, values: npt.NDArray[Any], out: npt.NDArray[Any]
) -> None:
    """Walk one row through many trees in step, and add their values in the order of the trees."""
    count = roots.size
    places = np.empty(count + TOGETHER, dtype=np.uint64)
    for row in range(keys.shape[0]):
        for tree in range(count):  # to assign a slice would take five times as long to compile
            places[tree] = np.uint64(roots[tree])
        places[count:] = roots[0]
        for first in range(0, count, TOGETHER):
            moving = np.int64(1)
            while moving:
                moving = np.int64(0)
                for lane in range(first, first + TOGETHER):
                    place = places[np.uint64(lane)]
                    node = nodes[place]
                    distance = (node & LOW_MASK) >> FEATURE_BITS
                    key = keys[row, np.uint64(node & FEATURE_MASK)]
                    left = key <= (node >> (FEATURE_BITS + CHILD_BITS))
                    places[np.uint64(lane)] = place + np.uint64(distance) - np.uint64(left)
                    moving |= distance
        for tree in range(count):
            for column in range(values.shape[1]):
                out[row, column] += values[places[np.uint64(tree)], column]


@kernel
def walk_parts(keys: Keys, roots: Ints, nodes: Ints, values: npt.NDArray[Any], out: Floats) -> None:
    """Add to each feature the changes of the last value at its steps."""
    last = values.shape[1] - 1
    for row in range(keys.shape[0]):
        for root in roots:
            place = root
            before = np.float64(values[place, last])
            while True:
                node = nodes[place]
                distance = (node & LOW_MASK) >> FEATURE_BITS
                if distance == 0:
                    break
                feature = node & FEATURE_MASK
                left = keys[row, feature] <= (node >> (FEATURE_BITS + CHILD_BITS))
                place += distance - np.int64(left)
                value = np.float64(values[place, last])
                out[row, feature] += value - before
                before = value
