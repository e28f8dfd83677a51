"""The stage on a small project: what it refuses, what it leaves behind."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from barograph.pipeline import subseries
from barograph.pipeline.load import FOLDER
from barograph.results.history import History
from barograph.results.series import Floats
from barograph.runtime.errors import ConfigError
from barograph.studies import selection
from barograph.studies.selection import POOL

SECTION = """
selection: {policy: adaptive, runs: 2, population: 6, generations: 2, trees: 4}
"""


@pytest.fixture
def asked(project: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A project with bounds; the characteristics are drawn, and each time is noted."""
    calls: list[int] = []

    def drawn(values: Floats, starts: Floats, *_: Any, **__: Any) -> Floats:
        calls.append(starts.size)
        return np.random.default_rng(0).normal(size=(starts.size, 2 * len(POOL)))

    monkeypatch.setattr(selection, "pool_matrix", drawn)
    params = project / "params.yaml"
    params.write_text(params.read_text() + SECTION)
    subseries.main()
    return calls


def test_stage_reports_every_characteristic(asked: list[int]) -> None:
    selection.main()
    table = pd.read_csv(selection.FOLDER / "characteristics.csv")
    assert sorted(table["characteristic"]) == sorted(POOL)
    runs = pd.read_csv(selection.FOLDER / "runs.csv")
    assert len(runs) == 2
    assert runs["validation_accuracy"].between(0.5, 1.0).all()
    assert "Population 6, 2 generations" in (selection.FOLDER / "characteristics.md").read_text()
    assert asked == [100]


@pytest.mark.usefixtures("asked")
def test_select_refuses_an_unknown_policy() -> None:
    with pytest.raises(ConfigError, match="no bounds of the policy 'nearest'"):
        selection.select(
            selection.SelectionParams(policy="nearest"),
            History.read(FOLDER),
            pd.read_parquet(subseries.OUT),
        )
