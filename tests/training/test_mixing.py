"""Simulated verdicts help while own ones are scarce, and fade as those come in."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from barograph.errors import ConfigError, DataError
from barograph.models.catalogue import classifier
from barograph.pipeline import characterise, learning, subseries, train
from barograph.training import mixing, tables

SECTION = """
learning:
  use: adaptive
  feature_set: bauer8
  classifier: random_forest
  sizes: [10, 30]
  enough: 30
  prior_weight: 0.5
  repetitions: 2
  trees: 5
  seed: 1
"""


@pytest.fixture
def described(project: Path) -> tables.Labelled:
    """A project whose prior is its own history."""
    subseries.main()
    characterise.main()
    shutil.copytree("data/processed", mixing.FOLDER / "data/processed")
    return tables.labelled(tables.read("adaptive"), "bauer8")


def test_the_weight_fades_with_every_verdict() -> None:
    weights = [mixing.faded(n, 0.4, 100) for n in (0, 50, 100, 200)]
    assert weights == pytest.approx([0.4, 0.2, 0.0, 0.0])
    assert mixing.faded(0, 0.4, 0) == 0.0
    with pytest.raises(ConfigError, match="prior_weight is -1"):
        mixing.faded(0, -1, 10)


def test_without_weight_the_prior_plays_no_part(described: tables.Labelled) -> None:
    def fitted(weight: float) -> Any:
        model = classifier("random_forest", seed=1, trees=5)
        turned = replace(described, truth=1 - described.truth)
        return mixing.fit_with_prior(model, described.matrix, described.truth, turned, weight)

    alone = classifier("random_forest", seed=1, trees=5).fit(described.matrix, described.truth)
    said = alone.predict_proba(described.matrix)
    np.testing.assert_array_equal(fitted(0.0).predict_proba(described.matrix), said)
    heavy = fitted(10.0).predict(described.matrix)
    assert (heavy != described.truth).mean() > 0.9


@pytest.mark.usefixtures("described")
def test_training_reads_the_prior_only_where_verdicts_are_scarce() -> None:
    shutil.rmtree(mixing.FOLDER)
    train.main()
    params = Path("params.yaml")
    params.write_text(params.read_text().replace("calibration:", "enough: 101\n  calibration:"))
    with pytest.raises(DataError, match=r"prior/data/processed/adaptive\.parquet: no such feature"):
        train.main()


@pytest.mark.usefixtures("described")
def test_the_curve_has_a_row_a_size_and_way() -> None:
    params = Path("params.yaml")
    params.write_text(params.read_text() + SECTION)
    learning.main()
    table = pd.read_csv("data/reports/learning/learning.csv")
    assert sorted(set(table["verdicts"])) == [0, 10, 30]
    assert set(table["way"]) == set(learning.WAYS)
    assert table["auc"].between(0.5, 1.0).all()
    assert Path("data/reports/learning/learning.png").read_bytes().startswith(b"\x89PNG")
    found = json.loads(Path("data/reports/learning.json").read_text())
    assert found["simulated ones alone"]["0"] > 0.9
