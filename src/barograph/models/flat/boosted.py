"""XGBoost's trees as flat arrays, and their Shapley values.

Margins are summed in float32, as XGBoost does. Shapley values (TreeSHAP, Lundberg et al. 2020) need
XGBoost's own model, which stores the cover of each node; they are for reports only. A served model
explains itself by `TriageModel.reasons`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from barograph.errors import ArtifactError, ConfigError
from barograph.logistic import expit, logit
from barograph.models.artifact import Arrays, typed_array
from barograph.models.flat.base import probabilities, probability_parts
from barograph.models.flat.trees import Singles, Tree, Trees
from barograph.series import Floats

MAX_DIFFERENCE = 1e-4  # in log-odds, due to sums in float32


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
                "boosted trees must be gbtree with binary:logistic, "
                f"not {booster['name']} with {objective}"
            )
        # A probability; XGBoost writes it as a list since 3.1.
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
        return probabilities(self.margin(matrix))

    def parts(self, matrix: Floats) -> tuple[float, Floats]:
        """Return the probability at the roots, and each feature's part along the paths."""
        roots = self.trees.values[self.trees.roots, 0]
        start = float(self.base) + float(roots.sum(dtype=np.float64))
        probability = self.predict_proba(matrix)[:, 1]
        return float(expit(start)), probability_parts(start, self.trees.parts(matrix), probability)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store in an artifact."""
        return {**self.trees.arrays(), "margins": self.trees.values, "base": np.array([self.base])}

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: int) -> FlatBoosted:
        """Restore the model from an artifact's arrays."""
        margins = typed_array(arrays, "margins", np.float32, 2)
        base = typed_array(arrays, "base", np.float32, 1)
        if margins.shape[1] != 1 or base.size != 1:
            raise ArtifactError(
                "arrays 'margins' and 'base': expected one number for each node and one base, "
                f"got the shapes {margins.shape} and {base.shape}"
            )
        if not np.all(np.isfinite(margins)) or not np.isfinite(base[0]):
            raise ArtifactError("arrays 'margins' and 'base': a number is not finite")
        return cls(Trees.from_arrays(arrays, margins, columns), base[0])


def library_bytes(fitted: Any) -> bytes | None:
    """Return XGBoost's own form of fitted trees or of a pipeline; None for other models."""
    model = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted
    if type(model).__name__ != "XGBClassifier":  # importing xgboost is slow
        return None
    return bytes(model.get_booster().save_raw("ubj"))


def shapley_values(library: bytes, flat: FlatBoosted, rows: Floats) -> tuple[float, Floats]:
    """Return a base, and the Shapley values of each row; they add up to the log-odds.

    Args:
        library: The result of `library_bytes`.
        flat: The flat form of the same model.
        rows: One row of features for each candidate.

    Raises:
        ArtifactError: The two forms are not the same model.
    """
    from xgboost import Booster, DMatrix

    booster = Booster({"nthread": 1})
    booster.load_model(bytearray(library))
    data = DMatrix(rows, nthread=1)
    values = booster.predict(data, pred_contribs=True).astype(np.float64)
    gap = float(np.abs(booster.predict(data, output_margin=True) - flat.margin(rows)).max())
    if gap > MAX_DIFFERENCE:
        raise ArtifactError(
            f"the XGBoost model and the artifact differ by {gap:.2g} in log-odds, more than "
            f"{MAX_DIFFERENCE}: they come from different trainings"
        )
    return float(values[0, -1]), values[:, :-1]


def _tree(tree: dict[str, Any]) -> Tree:
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    if any(tree["split_type"]):
        raise ConfigError("a tree splits on categories; only numeric splits are supported")
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    cover = np.array(tree["sum_hessian"], dtype=np.float64)
    # XGBoost goes left where x < t: the same as where x <= the float32 below t.
    below = np.nextafter(conditions, np.float32(-np.inf))
    values = _means(left, right, conditions.astype(np.float64), cover)[:, None]
    return Tree(left, right, np.array(tree["split_indices"]), below, values.astype(np.float32))


def _means(left: npt.NDArray[Any], right: npt.NDArray[Any], leaf: Floats, cover: Floats) -> Floats:
    """Return the values of the leaves, and of inner nodes the mean weighted by cover."""
    means = leaf.copy()
    for node in range(left.size - 1, -1, -1):  # XGBoost numbers children after their parent
        if left[node] >= 0:
            pair = [left[node], right[node]]
            means[node] = np.average(means[pair], weights=cover[pair])
    return means
