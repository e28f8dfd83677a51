"""Small models, trained on the spot on steps and on noise."""

from functools import cache

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from barograph.features import FEATURE_SETS, feature_matrix
from barograph.models import TriageModel
from barograph.models.trees import Forest

FEATURES = "leznik"
LENGTH = 20


@cache
def small_model(seed: int = 0, use: str = "online", threshold: float = 0.9) -> TriageModel:
    """A forest of seven trees that knows a step of 15 sigma from nothing."""
    rng = np.random.default_rng(seed)
    number = 2000
    values = 100.0 + rng.standard_normal((number, LENGTH))
    truth = np.arange(number) % 2
    values[:, -1] += 15.0 * truth * rng.choice([-1.0, 1.0], number)
    splits = np.arange(number) * LENGTH + LENGTH - 1
    starts = splits - rng.integers(1, LENGTH, number)
    rows = feature_matrix(values.ravel(), starts, splits, splits + 1, FEATURES)
    forest = RandomForestClassifier(n_estimators=7, random_state=seed).fit(rows, truth)
    columns = FEATURE_SETS[FEATURES]
    return TriageModel(use, FEATURES, columns, threshold, Forest.of(forest), {"profile": "test"})
