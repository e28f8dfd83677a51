"""The stage `detectors` on a small project."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from barograph.results.history import History
from barograph.results.series import FINAL
from barograph.studies import detectors
from barograph.studies.detector_tables import shuffled, triaged_series
from barograph.studies.detectors import CAPTIONS

FOLDER = Path("data/reports/detectors")
PARAMS = """
detectors: {segments: 4, length: 28, lengths: [28], repeats: 1, runs: 2, triaged: 20}
"""
TABLES = {"scores", "margins", "points", "repeats", "distribution", "verdicts"}


@pytest.fixture
def comparison_project(project: Path) -> Path:
    with (project / "params.yaml").open("a", encoding="utf-8") as file:
        file.write(PARAMS)
    return project


@pytest.mark.usefixtures("comparison_project")
def test_stage_writes_every_table_and_the_figure() -> None:
    detectors.main()
    assert {path.stem for path in FOLDER.glob("*.csv")} == TABLES
    assert {path.stem for path in FOLDER.glob("*.md")} == TABLES
    assert (FOLDER / "detectors.png").read_bytes().startswith(b"\x89PNG")
    assert (FOLDER / "scores.md").read_text().startswith("# Scores by scenario (profile tiny)")
    for name in TABLES:
        assert CAPTIONS[name] in (FOLDER / f"{name}.md").read_text()
    metrics = json.loads(Path("data/reports/detectors.json").read_text())
    assert metrics["Nothing"]["f1"] == 0.0
    assert metrics["Pelt"]["low"] <= metrics["Pelt"]["f1"] <= metrics["Pelt"]["high"]


@pytest.mark.usefixtures("comparison_project")
def test_second_run_writes_the_same_bytes() -> None:
    detectors.main()
    once = {path.name: hashlib.sha256(path.read_bytes()).digest() for path in FOLDER.iterdir()}
    detectors.main()
    again = {path.name: hashlib.sha256(path.read_bytes()).digest() for path in FOLDER.iterdir()}
    assert once == again


@pytest.mark.usefixtures("comparison_project")
def test_triaged_returns_only_series_with_a_decided_candidate() -> None:
    history = History.read("data/interim")
    data = triaged_series(history, limit=1000, seed=0)
    assert all(any(v.is_final for v in verdicts.values()) for _, verdicts in data)
    candidates = history.candidates
    decided = set(candidates.series[np.isin(candidates.verdict, FINAL)].tolist())
    assert len(data) == len(decided)
    assert len(triaged_series(history, limit=7, seed=0)) == 7


@pytest.mark.usefixtures("comparison_project")
def test_histories_have_times_in_seconds() -> None:
    history = History.read("data/interim")
    (first, *_) = shuffled(history, seed=0)
    assert first.times is not None
    assert len(first.times) == first.values.size
    assert np.all(np.diff(first.times) > 3600)
