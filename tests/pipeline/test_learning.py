"""The stage `learning` on a small project."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from barograph.learning.candidates import PRIOR
from barograph.pipeline import learning
from barograph.studies.learning import ALONE, MIXED, SIMULATED

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


@pytest.mark.usefixtures("described")
def test_stage_reports_every_size_and_way() -> None:
    shutil.copytree("data/processed", PRIOR / "data/processed")
    params = Path("params.yaml")
    params.write_text(params.read_text() + SECTION)
    learning.main()
    table = pd.read_csv("data/reports/learning/learning.csv")
    assert sorted(set(table["verdicts"])) == [0, 10, 30]
    assert set(table["way"]) == {ALONE, MIXED, SIMULATED}
    assert table["auc"].between(0.5, 1.0).all()
    assert Path("data/reports/learning/learning.png").read_bytes().startswith(b"\x89PNG")
    result = json.loads(Path("data/reports/learning.json").read_text())
    assert result["simulated ones alone"]["0"] > 0.9
