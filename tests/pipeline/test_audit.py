"""Planted wrong verdicts come first on the list, under their own names."""

import json
from pathlib import Path

import pandas as pd
import pytest

from barograph.studies import audit

SECTION = """
audit:
  policy: adaptive
  feature_set: bauer8
  classifier: random_forest
  trees: 200
  folds: 4
  listed: 3
  seed: 1
"""
PLANTED = {4, 20, 36, 52, 68}  # candidates that stand at steps of six standard deviations


@pytest.mark.usefixtures("described")
def test_audit_ranks_planted_wrong_verdicts_first() -> None:
    path = Path("data/processed/adaptive.parquet")
    frame = pd.read_parquet(path)
    frame.loc[frame["candidate"].isin(PLANTED), "verdict"] = "false_positive"
    frame.to_parquet(path)
    params = Path("params.yaml")
    params.write_text(params.read_text() + SECTION)
    audit.main()
    table = pd.read_csv("data/reports/audit/suspects.csv")
    assert set(table["candidate"].head(len(PLANTED))) == PLANTED
    assert table["margin"].is_monotonic_decreasing
    assert json.loads(Path("data/reports/audit.json").read_text())["verdicts"] == 100
    page = Path("data/reports/audit/suspects.md").read_text()
    assert page.count("false_positive") == 3
