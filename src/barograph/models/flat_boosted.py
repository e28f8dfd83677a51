"""Boosted trees as flat arrays: XGBoost's margin, summed in float32 as XGBoost does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from barograph.errors import ArtifactError, ConfigError
from barograph.models.checks import Arrays, array
from barograph.models.linked import linked, secant
from barograph.models.trees import Singles, Tree, Trees
from barograph.series import Floats


@dataclass(frozen=True)
class FlatBoosted:
    """Trees whose leaves add up to the log-odds of a real change."""

    kind: ClassVar[str] = "boosted"
    trees: Trees
    base: np.float32

    @classmethod
    def of(cls, model: Any) -> FlatBoosted:
        """Flatten a fitted XGBClassifier of two classes."""
        learner = json.loads(model.get_booster().save_raw("json"))["learner"]
        booster, objective = learner["gradient_booster"], learner["objective"]["name"]
        if (booster["name"], objective) != ("gbtree", "binary:logistic"):
            raise ConfigError(
                f"served are gbtree with binary:logistic, not {booster['name']} with {objective}"
            )
        # Written as a list since XGBoost 3.1; a probability, whatever the objective.
        share = float(learner["learner_model_param"]["base_score"].strip("[]"))
        trees = (_tree(tree) for tree in booster["model"]["trees"])
        return cls(Trees.of(trees, int(model.n_features_in_)), np.float32(logit(share)))

    def margin(self, matrix: Floats) -> Singles:
        """Return the log-odds."""
        out = np.full((matrix.shape[0], 1), self.base)
        self.trees.add(matrix, out)
        return out[:, 0]

    def predict_proba(self, matrix: Floats) -> Floats:
        """Return the probability of noise and of a real change."""
        return linked(self.margin(matrix))

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return the probability at the roots, and each feature's part of the way from there."""
        start = float(self.base) + float(
            self.trees.values[self.trees.roots, 0].sum(dtype=np.float64)
        )
        terms = self.trees.parts(matrix)
        return float(expit(start)), secant(start, terms, self.predict_proba(matrix)[:, 1])

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what an artifact keeps of it."""
        return {**self.trees.arrays(), "margins": self.trees.values, "base": np.array([self.base])}

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> FlatBoosted:
        """Take arrays from an artifact, or say what is wrong with them."""
        margins, base = (
            array(arrays, "margins", np.float32, 2),
            array(arrays, "base", np.float32, 1),
        )
        if margins.shape[1] != 1 or base.size != 1:
            raise ArtifactError(
                f"arrays 'margins' and 'base': expected one number a node and one in all, "
                f"got the shapes {margins.shape} and {base.shape}"
            )
        if not np.all(np.isfinite(margins)) or not np.isfinite(base[0]):
            raise ArtifactError("arrays 'margins' and 'base': a number is not finite")
        return cls(Trees.from_arrays(arrays, margins, columns), base[0])


def _tree(tree: dict[str, Any]) -> Tree:
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    if any(tree["split_type"]):
        raise ConfigError("a tree splits on categories; only numbers are served")
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    cover = np.array(tree["sum_hessian"], dtype=np.float64)
    # XGBoost goes left where x < t: the same as where x <= the float32 below t.
    below = np.nextafter(conditions, np.float32(-np.inf))
    values = _means(left, right, conditions.astype(np.float64), cover)[:, None]
    return Tree(left, right, np.array(tree["split_indices"]), below, values.astype(np.float32))


def _means(left: npt.NDArray[Any], right: npt.NDArray[Any], leaf: Floats, cover: Floats) -> Floats:
    """Return a leaf's own value, and an inner node's mean over its leaves by their cover."""
    means = leaf.copy()
    for node in range(left.size - 1, -1, -1):  # XGBoost numbers children after their parent
        if left[node] >= 0:
            pair = [left[node], right[node]]
            means[node] = np.average(means[pair], weights=cover[pair])
    return means
