"""The stage on a small project: what it refuses, what it leaves behind."""

from pathlib import Path

import pandas as pd
import pytest

from barograph.pipeline import selection as stage
from barograph.pipeline import subseries
from barograph.pipeline.load import FOLDER
from barograph.results.history import History
from barograph.runtime.errors import ConfigError
from barograph.studies import selection
from barograph.studies.selection import POOL

SECTION = """
selection: {policy: adaptive, runs: 2, population: 6, generations: 2, trees: 4}
"""


@pytest.fixture(autouse=True)
def _bounds(project: Path) -> None:
    """A project with bounds."""
    params = project / "params.yaml"
    params.write_text(params.read_text() + SECTION)
    subseries.main()


def test_stage_reports_every_characteristic() -> None:
    stage.main()
    table = pd.read_csv(stage.FOLDER / "characteristics.csv")
    assert sorted(table["characteristic"]) == sorted(POOL)
    runs = pd.read_csv(stage.FOLDER / "runs.csv")
    assert len(runs) == 2
    assert runs["validation_accuracy"].between(0.5, 1.0).all()
    assert "Population 6, 2 generations" in (stage.FOLDER / "characteristics.md").read_text()


def test_select_refuses_an_unknown_policy() -> None:
    with pytest.raises(ConfigError, match="no bounds of the policy 'nearest'"):
        selection.select(
            selection.SelectionParams(policy="nearest"),
            History.read(FOLDER),
            pd.read_parquet(subseries.OUT),
        )
