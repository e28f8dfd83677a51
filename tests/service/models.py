"""Small models, trained on the spot on steps and on noise."""

from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from barograph.features import FEATURE_SETS, feature_matrix
from barograph.models import OnlineModels, TriageModel
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


@cache
def small_pair(seed: int = 0) -> OnlineModels:
    """Two forests of seven trees that know a step of 15 sigma from nothing, at once and later.

    A probability of 0.9 is an alarm in each window.
    """
    tails = {"logits": [0.0, 2.0], "surprises": [1.0, 10.0]}
    card: dict[str, Any] = {"profile": "test", "tails": {"0": tails}}
    newest = _member(seed, "online", (0,), card)
    rates = {"1": 9.5, "3": 9.0, "10": 8.5}
    card = {"profile": "test", "tails": {"1": tails}, "alarm_thresholds": {"steady": rates}}
    return OnlineModels(newest, _member(seed, "confirm", (1, 2, 3, 5, 7, 10), card))


def _member(seed: int, use: str, windows: tuple[int, ...], card: dict[str, Any]) -> TriageModel:
    rng = np.random.default_rng(seed)
    rows, truths = [], []
    for window in windows:
        size = LENGTH + window
        values = 100.0 + rng.standard_normal((1000, size))
        truth = np.arange(1000) % 2
        values[:, LENGTH - 1 :] += 15.0 * (truth * rng.choice([-1.0, 1.0], 1000))[:, None]
        ends = np.arange(1, 1001) * size
        starts = ends - size + rng.integers(0, LENGTH - 6, 1000)
        rows.append(feature_matrix(values.ravel(), starts, ends - window - 1, ends, use))
        truths.append(truth)
    forest = RandomForestClassifier(n_estimators=7, random_state=seed)
    fitted = Forest.of(forest.fit(np.concatenate(rows), np.concatenate(truths)))
    return TriageModel(use, use, FEATURE_SETS[use], 0.9, fitted, card)
