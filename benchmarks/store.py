"""A store with a history, and a model: what the benchmarks of the service and the board load.

The models are forests; their size determines the speed, not what they were fitted on.
"""

from functools import partial
from typing import Any

import numpy as np
import sqlalchemy as sa
from sklearn.ensemble import RandomForestClassifier

from barograph.detection.online import make_judge
from barograph.features import FEATURE_SETS
from barograph.models import OnlineModels, TriageModel
from barograph.models.trees import Forest
from barograph.results.series import Floats, SeriesId
from barograph.server.store import Measurement, Store
from barograph.server.store.database import Insertion, Row
from barograph.server.store.schema import points

ROWS = 12_000
POINT = Insertion(points, points.columns.keys())
# High, so that noise is rarely called a change.
TAILS = {"logits": [0.0, 3.0], "surprises": [1.0, 5.0]}
THRESHOLDS = {"1": 12.0, "3": 11.0, "10": 10.0}


def model(trees: int) -> OnlineModels:
    """Fit two forests on noisy labels, so that they are as deep as on a real history."""
    card = {"tails": {"0": TAILS, "1": TAILS}, "alarm_thresholds": {"steady": THRESHOLDS}}
    return OnlineModels(*(_forest(use, trees, card) for use in ("online", "confirm")))


def _forest(use: str, trees: int, card: dict[str, Any]) -> TriageModel:
    random = np.random.default_rng(0)
    columns = FEATURE_SETS[use]
    rows = random.normal(size=(ROWS, len(columns)))
    labels = rows[:, :4].sum(axis=1) + random.normal(size=ROWS) > 0
    forest = RandomForestClassifier(trees, min_samples_leaf=2, random_state=0, n_jobs=2)
    return TriageModel(use, use, columns, 0.9, Forest.of(forest.fit(rows, labels)), card)


def filled(url: str, trees: OnlineModels, count: int, history: int) -> Store:
    """Return a new store with series of noise.

    Args:
        url: Location of the store.
        trees: Models that decide on later results.
        count: Number of series.
        history: Number of results of each, of orders 0 and up.
    """
    judge = make_judge(trees)
    store = Store(url, judge)
    store.ingest([Measurement(series_id(k), 1.0, -1) for k in range(count)], "bench")
    random = np.random.default_rng(1)
    for first in range(0, count, 1000):
        numbers = range(first + 1, min(first + 1000, count) + 1)
        table = random.normal(100.0, 1.0, (len(numbers), history))
        store.write(partial(_write, numbers, table))
    return store


def series_id(number: int) -> SeriesId:
    """Return the identity of a series of the store."""
    return SeriesId("p", "v", "task", f"test{number}", "ops")


def _write(numbers: range, table: Floats, connection: sa.Connection) -> None:
    """Write a history directly into the table, which is faster than ingesting it."""
    new: list[Row] = [
        (n, o, "", f"c{o}", None, v, 0, v, o + 1, 0, 0.0, 0.0, o + 1, 0, None, 1, None)
        for n, values in zip(numbers, table.tolist(), strict=True)
        for o, v in enumerate(values)
    ]
    POINT.into(connection, new)
