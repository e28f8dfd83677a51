"""What a report says of a model adds up to what the model says."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

from barograph.learning import tables
from barograph.models.triage import TriageModel
from barograph.pipeline import explain, report, train
from barograph.runtime.errors import ArtifactError, ConfigError
from barograph.studies.importance import PATHS, SHAP

SECTION = "explain: {use: label_free, rows: 50, features: 5, candidates: 7}\n"


def train_with(classifier: str) -> None:
    params = Path("params.yaml")
    text = params.read_text().replace("classifier: random_forest\n", f"classifier: {classifier}\n")
    params.write_text(text + SECTION)
    train.main()


@pytest.mark.usefixtures("described")
def test_shapley_values_add_up_to_the_log_odds() -> None:
    train_with("xgboost")
    explain.main()
    table = pd.read_csv(explain.FOLDER / "candidates.csv")
    model = TriageModel.load("data/models/label_free.baro")
    frame = tables.read("label_free").set_index("candidate")
    rows = frame.loc[table["candidate"], list(model.columns)].to_numpy()
    raw = model.classifier.predict_proba(rows)[:, 1]
    total = table["base"] + table[list(model.columns)].sum(axis=1)
    np.testing.assert_allclose(total, logit(raw), atol=1e-5)
    assert len(table) == 7
    assert table["probability"].is_monotonic_decreasing
    means = pd.read_csv(explain.FOLDER / "importance.csv")
    assert set(means["method"]) == {SHAP}
    assert means.groupby("use").size().eq(16).all()
    best = means[means["use"] == "label_free"]
    assert best["mean_abs"].is_monotonic_decreasing
    assert (explain.FOLDER / "importance.png").read_bytes().startswith(b"\x89PNG")
    assert f"| {best['feature'].iloc[0]} " in (explain.FOLDER / "explain.md").read_text()


@pytest.mark.usefixtures("described")
def test_explain_refuses_library_model_of_another_training() -> None:
    train_with("xgboost")
    other = (train.LIBRARY / "online.ubj").read_bytes()
    report.write_bytes(train.LIBRARY / "label_free.ubj", other)
    with pytest.raises(ArtifactError, match=r"differ by .* come from different trainings"):
        explain.main()


@pytest.mark.usefixtures("described")
def test_explain_uses_decision_paths_for_forests() -> None:
    train_with("random_forest")
    assert not train.LIBRARY.exists()
    explain.main()
    table = pd.read_csv(explain.FOLDER / "candidates.csv")
    parts = table.drop(
        columns=["name", "candidate", "series", "index", "commit", "probability", "base"]
    )
    total = table["base"] + parts.sum(axis=1)
    np.testing.assert_allclose(total, table["probability"], atol=1e-9)
    text = (explain.FOLDER / "explain.md").read_text()
    assert "decision paths, in probability" in text


@pytest.mark.usefixtures("described")
def test_explain_refuses_other_models() -> None:
    train_with("svm")
    with pytest.raises(ConfigError, match="only forests and boosted trees give reasons"):
        explain.main()


@pytest.mark.usefixtures("described")
def test_explain_works_for_a_built_in_model_and_without_untriaged_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train_with("xgboost")
    (train.LIBRARY / "label_free.ubj").unlink()
    monkeypatch.setattr(tables, "untriaged", lambda frame: frame.iloc[:0])
    explain.main()
    means = pd.read_csv(explain.FOLDER / "importance.csv").groupby("use")["method"].first()
    assert means["label_free"] == PATHS
    assert means["adaptive"] == SHAP
    assert "Every candidate has a verdict" in (explain.FOLDER / "explain.md").read_text()
