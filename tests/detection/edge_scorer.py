"""A model that anyone can follow: the farther the edge, the more likely a change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from barograph.detection.online import Budget, TailRates
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.series import Floats


@dataclass
class EdgeScorer:
    """Logistic in one column; counts how many rows it was asked for."""

    feature_set: str = "online"
    threshold: float = 0.5
    column: str = "edge"
    middle: float = 1.8
    slope: float = 4.0
    card: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 0

    def predict_proba(self, matrix: Floats) -> Floats:
        self.rows += len(matrix)
        x = matrix[:, FEATURE_SETS[self.feature_set].index(self.column)]
        real = 1.0 / (1.0 + np.exp(-self.slope * (x - self.middle)))
        return np.column_stack([1.0 - real, real])


def noise(size: int, seed: int = 0) -> Floats:
    return 100.0 + np.random.default_rng(seed).normal(size=size)


def quiet(size: int) -> Floats:
    """Values that never stray: evenly spread within one of 100."""
    values: Floats = 100.0 + 2.0 * (0.618034 * np.arange(size, dtype=np.float64) % 1.0 - 0.5)
    return values


def tails_of(model: EdgeScorer, window: int, seed: int = 99) -> TailRates:
    """Tail rates on pure noise."""
    probabilities = []
    for k in range(20):
        values = noise(400, seed + k)
        splits = np.arange(20, values.size - window)
        rows = feature_matrix(
            values, np.zeros_like(splits), splits, splits + window + 1, model.feature_set, threads=1
        )
        probabilities.append(model.predict_proba(rows)[:, 1])
    return TailRates.of(np.concatenate(probabilities))


def looking_twice(
    threshold: float = 6.0, weights: Mapping[int, float] | None = None
) -> tuple[EdgeScorer, EdgeScorer, Budget]:
    """Both models and a budget calibrated on noise."""
    first, second = EdgeScorer(), EdgeScorer("confirm")
    tails = {0: tails_of(first, 0)} | {w: tails_of(second, w) for w in (1, 2, 3, 5, 7, 10)}
    return first, second, Budget(tails, weights or {0: 1.0, 2: 1.0, 5: 1.0}, threshold)
