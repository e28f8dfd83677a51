"""Scores of repetitions, in order."""

from pathlib import Path

import numpy as np
import pytest

from barograph.learning.protocols import random_splits
from barograph.learning.tables import Labelled
from barograph.studies.repetitions import Repetition, repeat, repetition


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Repetition]:
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
    return [Repetition("random_forest", rows, split, k, 3, "f1") for k, split in enumerate(splits)]


def test_repeat_scores_every_repetition_in_order(planned: list[Repetition]) -> None:
    first = repeat(planned, "test")
    assert repeat(planned[::-1], "test") == first[::-1]
    single = planned[0]
    rows = single.rows
    facts = single.seed, single.trees, single.goal
    assert repetition(single.classifier, rows.matrix, rows.truth, single.split, *facts) == first[0]
