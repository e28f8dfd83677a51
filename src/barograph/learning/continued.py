"""Learn from verdicts on top of a model, so that few verdicts help and nothing is forgotten.

The built-in models learned from many histories; verdicts are about the data of one team. So trees
are added that start at the log odds of the model. They learn the verdicts, and on simulated
histories what the model itself says there: where verdicts say nothing, it stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit

from barograph.models.catalogue import classifier
from barograph.models.trees import Boosted, Singles
from barograph.results.series import Floats, Ints

WeightedRows = tuple[Singles | Floats, Ints, Floats]  # rows, classes and weights
# Chosen on marked histories and on owners of public ones that no figure is reported of.
TREES = 100
REMEMBERED = 3.0  # the weight of all known rows, where that of all lessons is 1
MOST_REMEMBERED = 1_000.0  # the same beside many verdicts, which outweigh what was known
CAUTIOUS: Mapping[str, Any] = {
    "model__max_depth": 3,
    "model__learning_rate": 0.05,
    "model__subsample": 0.7,
    "model__colsample_bytree": 0.3,
    "model__min_child_weight": 1,
    "model__reg_lambda": 10,
    "model__max_bin": 64,
}


class Start(NamedTuple):
    """A model that is continued, with rows about which it is right.

    Attributes:
        model: The model.
        X: The rows.
        weights: How much each is worth.
        margin: What the model says of each, in log odds.
    """

    model: Boosted
    X: Singles | Floats
    weights: Floats
    margin: Singles

    @classmethod
    def of(cls, model: Boosted, X: Singles | Floats, weights: Floats) -> Self:
        """Ask a model about rows."""
        return cls(model, X, weights, model.margin(np.asarray(X, dtype=np.float64)))


def continued(
    start: Start,
    lessons: WeightedRows,
    seed: int,
    *,
    most: float = math.inf,
    settings: Mapping[str, Any] | None = None,
) -> Boosted:
    """Return a model with trees added that learn from further rows.

    Args:
        start: The model, and what it is to remember.
        lessons: The rows; without both classes there is nothing to learn.
        seed: Seed of the trees.
        most: The largest weight of all known rows: more lessons than that outweigh them.
        settings: Settings of the classifier `xgboost` that replace the cautious ones.
    """
    X, y, weights = lessons
    if np.unique(y).size < 2:
        return start.model
    share = min(REMEMBERED * weights.sum(), most) * start.weights / start.weights.sum()
    # Each known row stands for both classes, as likely as the model says.
    votes = [share * expit(start.margin), share * expit(-start.margin)]
    classes = np.repeat([1, 0], start.margin.size)
    margin = start.model.margin(np.asarray(X, dtype=np.float64))
    chosen = {**CAUTIOUS, **(settings or {})}
    fitted = classifier("xgboost", seed=seed, trees=TREES, settings=chosen)[-1].fit(
        np.concatenate([X, start.X, start.X]),
        np.concatenate([y, classes]),
        sample_weight=np.concatenate([weights, *votes]),
        base_margin=np.concatenate([margin, start.margin, start.margin]),
    )
    return start.model.followed_by(Boosted.of(fitted))
