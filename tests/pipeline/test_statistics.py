"""The stage reads a table, and leaves the tables as CSV, JSON and a page."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from barograph.errors import ConfigError, DataError
from barograph.history import History
from barograph.pipeline import subseries
from barograph.pipeline.statistics import FOLDER, main, read_rows
from barograph.studies.statistics import candidate_rows


@pytest.fixture
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "project": ["a"] * 20 + ["b"] * 20,
            "delta_mean": rng.random(40),
            "distance": rng.random(40),
            "verdict": ["true_positive", "false_positive"] * 10 + ["false_positive"] * 20,
        }
    )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_command_writes_every_table_in_every_form(
    tmp_path: Path, rows: pd.DataFrame, ending: str
) -> None:
    path, out = tmp_path / f"rows.{ending}", tmp_path / "out"
    rows.to_csv(path, index=False) if ending == "csv" else rows.to_parquet(path)
    result = CliRunner().invoke(main, ["--rows", str(path), "--out", str(out)])
    assert result.exit_code == 0, result.output
    document = json.loads((out / "statistics.json").read_text())
    for name, records in document.items():
        table = pd.read_csv(out / f"{name}.csv")
        assert set(table.columns) == set(records[0])
        assert len(table) == len(records)
    assert document["table3_projects"][1]["p_value"] is None
    assert document["table3_projects"][0]["true_positives"] == 10
    assert (out / "statistics.md").read_text().count("\n## ") == len(document)


def test_stage_compares_the_decided_candidates(project: Path) -> None:
    params = project / "params.yaml"
    params.write_text(params.read_text() + "statistics: {policy: adaptive, seed: 3}\n")
    subseries.main()
    result = CliRunner().invoke(main, [])
    assert result.exit_code == 0, result.output
    document = json.loads((FOLDER / "statistics.json").read_text())
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


def test_command_needs_rows_and_out_together(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--rows", str(tmp_path / "rows.csv")])
    assert result.exit_code == 2
    assert "--rows and --out belong together" in result.output


def test_command_prints_errors_in_one_line(tmp_path: Path, rows: pd.DataFrame) -> None:
    path = tmp_path / "rows.csv"
    rows.drop(columns="verdict").to_csv(path, index=False)
    result = CliRunner().invoke(main, ["--rows", str(path), "--out", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert result.output.startswith("Error: no column verdict or label among ['project'")
    assert not (tmp_path / "out").exists()


def test_read_rows_refuses_unreadable_tables(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_rows(tmp_path / "none.csv")
    for name in ("empty.csv", "broken.parquet"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(DataError, match="not a readable table"):
            read_rows(tmp_path / name)
