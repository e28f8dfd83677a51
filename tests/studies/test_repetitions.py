"""Scores of repetitions, in order."""

from pathlib import Path

import numpy as np
import pytest

from barograph.learning.protocols import random_splits
from barograph.learning.tables import Labelled
from barograph.pipeline.evaluate import Call, calls_of, repetition, summaries


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Three repetitions of a forest on forty rows, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAROGRAPH_WORKERS", "1")
    matrix = np.random.default_rng(0).normal(size=(40, 2))
    truth = (matrix[:, 0] > 0).astype(np.int64)
    number = np.arange(40)
    rows = Labelled(
        matrix, truth, number, number, number.astype(str).astype(object), number, number
    )
    splits = random_splits(40, 3, seed=1)
    return calls_of("random_forest", rows, enumerate(splits), 3, "f1")


def test_summaries_have_the_scores_of_every_repetition_in_order(planned: list[Call]) -> None:
    first, _, last = planned
    forward, backward = (summaries([[a], [b]], "test") for a, b in ((first, last), (last, first)))
    assert forward == backward[::-1]
    scores = repetition(*first)
    assert {name: interval.mean for name, interval in forward[0].items()} == scores
    both = summaries([planned], "test")[0]["auc"]
    assert both.mean == pytest.approx(np.mean([repetition(*call)["auc"] for call in planned]))
