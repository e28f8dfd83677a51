"""The rows of the package tsfeatures: a study, and `evaluate` where the tables have them."""

import json
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from barograph.features import tsfeatures as features
from barograph.pipeline import characterise, evaluate, subseries
from barograph.results.series import Floats
from barograph.studies import tsfeatures

REPORTS = Path("data/reports")
FURTHER = "{tsfeatures: [random_forest]}"


@pytest.fixture
def asked(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project with bounds, a further feature set, and a package that knows two numbers."""

    def first_and_last(side: Floats, freq: int) -> dict[str, float]:
        return {"x_acf1": float(side[0]), "trend": float(side[-1])}

    package = SimpleNamespace(**dict.fromkeys(features.FUNCTIONS, first_and_last))
    monkeypatch.setattr(features, "_package", lambda: package)
    monkeypatch.setattr(features, "cache_folder", lambda: project)
    params = project / "params.yaml"
    text = params.read_text().replace("evaluate:\n", f"evaluate:\n  further: {FURTHER}\n", 1)
    params.write_text(text)
    subseries.main()


@pytest.mark.usefixtures("asked")
def test_study_judges_the_set_beside_the_eight() -> None:
    tsfeatures.main()
    table = pd.read_csv(REPORTS / "tsfeatures/table.csv")
    assert set(table["feature_set"]) == {"bauer8", "tsfeatures"}
    assert set(table["classifier"]) == {"random_forest"}
    assert set(table["policy"]) == {"adaptive"}
    assert "100 decided candidates" in (REPORTS / "tsfeatures/table.md").read_text()
    tree = json.loads((REPORTS / "tsfeatures.json").read_text())
    assert 0.0 <= tree["adaptive"]["random"]["tsfeatures"]["random_forest"]["auc"] <= 1.0


@pytest.mark.usefixtures("asked")
def test_evaluate_judges_the_set_only_where_a_table_has_it() -> None:
    characterise.main()
    evaluate.main()
    assert "tsfeatures" not in (REPORTS / "evaluate/table.csv").read_text()
    params = Path("params.yaml")
    params.write_text(
        params.read_text().replace("adaptive: [bauer8]", "adaptive: [bauer8, tsfeatures]", 1)
    )
    characterise.main()
    evaluate.main()
    table = pd.read_csv(REPORTS / "evaluate/table.csv")
    judged = table[table["feature_set"] == "tsfeatures"]
    assert judged["classifier"].unique().tolist() == ["random_forest"]
