"""A random forest as flat arrays, with the same bits as scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from barograph.errors import ArtifactError
from barograph.models.artifact import Arrays, check_range, typed_array
from barograph.models.flat.trees import Singles, Tree, Trees
from barograph.series import Floats


@dataclass(frozen=True)
class FlatForest:
    """The trees of a forest of two classes; the values of a node are the share of each class."""

    kind: ClassVar[str] = "forest"
    trees: Trees

    @classmethod
    def of(cls, forest: Any) -> FlatForest:
        """Flatten a fitted RandomForestClassifier or ExtraTreesClassifier."""
        trees = (_tree(estimator.tree_) for estimator in forest.estimators_)
        return cls(Trees.of(trees, int(forest.n_features_in_)))

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the mean share of noise and of real changes over the trees."""
        # Summed in the order of the trees, then divided: bit-equal to scikit-learn.
        out = np.zeros((matrix.shape[0], 2))
        self.trees.add(matrix, out)
        out /= self.trees.roots.size
        return out

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return the mean share at the roots, and each feature's part along the paths."""
        base = float(self.trees.values[self.trees.roots, 1].mean())
        return base, self.trees.parts(matrix) / self.trees.roots.size

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in an artifact."""
        return {**self.trees.arrays(), "shares": self.trees.values}

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> FlatForest:
        """Restore the model from an artifact's arrays."""
        shares = typed_array(arrays, "shares", np.float64, 2)
        if shares.shape[1] != 2:
            raise ArtifactError(f"array 'shares': expected two classes, got {shares.shape[1]}")
        check_range("shares", shares)
        return cls(Trees.from_arrays(arrays, shares, columns))


def _tree(tree: Any) -> Tree:
    thresholds = _rounded_down(tree.threshold)
    values = tree.value[:, 0, :]
    return Tree(tree.children_left, tree.children_right, tree.feature, thresholds, values)


def _rounded_down(thresholds: Floats) -> Singles:
    """Round down to float32, which keeps `x <= t` the same for every float32 x."""
    near = thresholds.astype(np.float32)
    below = np.nextafter(near, np.float32(-np.inf))
    return np.where(near.astype(np.float64) > thresholds, below, near)
