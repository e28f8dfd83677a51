"""The papers' experiments on a history without verdicts."""

import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from barograph.pipeline import characterise, subseries
from barograph.studies import (
    algorithm_1,
    audit,
    detectors,
    hybrid,
    selection,
    statistics,
    tsfeatures,
)
from tests.pipeline.conftest import forget_verdicts

REPORTS = Path("data/reports")
STUDIES = """
audit: {policy: adaptive, feature_set: bauer8, classifier: random_forest, trees: 8, folds: 2,
  listed: 5, seed: 1}
selection: {policy: adaptive, runs: 1, population: 4, generations: 1, trees: 8}
detectors: {segments: 2, length: 28, lengths: [28], repeats: 1, runs: 2, triaged: 20}
"""


@pytest.fixture(scope="module")
def untriaged(tmp_path_factory: pytest.TempPathFactory, described_once: Path) -> Path:
    """A project whose candidates are described and have no verdict."""
    folder: Path = tmp_path_factory.mktemp("untriaged")
    shutil.copytree(described_once, folder, dirs_exist_ok=True)
    forget_verdicts(folder)
    (folder / "params.yaml").write_text((described_once / "params.yaml").read_text() + STUDIES)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BAROGRAPH_WORKERS", "1")
        subseries.main()
        characterise.main()
    return folder


@pytest.fixture
def project_without_verdicts(untriaged: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(untriaged)
    monkeypatch.setenv("BAROGRAPH_WORKERS", "1")
    return untriaged


@pytest.mark.usefixtures("project_without_verdicts")
@pytest.mark.parametrize(
    ("stage", "page", "metrics"),
    [
        (audit, "audit/suspects.md", "audit.json"),
        (tsfeatures, "tsfeatures/table.md", "tsfeatures.json"),
        (hybrid, "hybrid/hybrid.md", "hybrid.json"),
        (algorithm_1, "algorithm_1/methods.md", "algorithm_1.json"),
        (selection, "selection/characteristics.md", None),
    ],
)
def test_study_without_verdicts_writes_a_page_that_says_so(
    stage: ModuleType, page: str, metrics: str | None
) -> None:
    stage.main()
    assert (REPORTS / page).read_text().startswith("No tables: ")
    assert metrics is None or json.loads((REPORTS / metrics).read_text()) == {}


@pytest.mark.usefixtures("project_without_verdicts")
def test_statistics_without_verdicts_write_a_page_that_says_so() -> None:
    statistics.main()
    assert (REPORTS / "statistics/statistics.md").read_text().startswith("No tables: ")


@pytest.mark.usefixtures("project_without_verdicts")
def test_detectors_are_compared_without_verdicts() -> None:
    detectors.main()
    assert (REPORTS / "detectors/scores.csv").exists()
    rows = (REPORTS / "detectors/verdicts.csv").read_text().splitlines()
    assert rows[1].startswith("Triaged,0,0,0,0,0,0,,")
