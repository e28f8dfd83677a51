"""The stage leaves its tables as CSV, JSON and a page."""

import json
from pathlib import Path

import pandas as pd
import pytest

from barograph.pipeline import subseries
from barograph.results.history import History
from barograph.runtime.errors import ConfigError
from barograph.studies.statistics import FOLDER, candidate_rows, main


def test_stage_compares_the_decided_candidates(project: Path) -> None:
    params = project / "params.yaml"
    params.write_text(params.read_text() + "statistics: {policy: adaptive, seed: 3}\n")
    subseries.main()
    main()
    document = json.loads((FOLDER / "statistics.json").read_text())
    for name, records in document.items():
        table = pd.read_csv(FOLDER / f"{name}.csv")
        assert set(table.columns) == set(records[0])
        assert len(table) == len(records)
    assert (FOLDER / "statistics.md").read_text().count("\n## ") == len(document)
    mean = document["table2_medians"][0]
    assert mean["feature"] == "delta_mean"
    assert mean["effect"] > 0.9
    projects = document["table3_projects"]
    assert sum(row["true_positives"] for row in projects) == 50
    assert sum(row["false_positives"] for row in projects) == 50
    assert len(projects) == 7


def test_candidate_rows_refuse_unknown_policy(project: Path) -> None:
    subseries.main()
    history = History.read(project / "data/interim")
    with pytest.raises(ConfigError, match="no bounds of the policy 'nearest'"):
        candidate_rows(history, pd.read_parquet(subseries.OUT), "nearest")
