"""What is tried is recorded in full, and what is chosen reaches the models."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from barograph.learning import candidates, tables
from barograph.learning import tune as tuning
from barograph.models.catalogue import classifier
from barograph.models.triage import TriageModel
from barograph.pipeline import report, train, tune

SECTION = """
tune:
  searches: {label_free: [random_forest, logistic], online: [random_forest]}
  trials: 3
  folds: 3
  seed: 1
"""


@pytest.fixture
def described(described: Path) -> Path:
    params = described / "params.yaml"
    params.write_text(params.read_text() + SECTION)
    return described


@pytest.mark.usefixtures("described")
def test_tune_records_every_trial_and_train_uses_the_best() -> None:
    tune.main()
    table = pd.read_csv(tune.TABLE)
    assert len(table) == 9
    assert table.groupby(["use", "classifier"])["chosen"].sum().eq(1).all()
    folds = table[["auc_0", "auc_1", "auc_2"]].to_numpy()
    np.testing.assert_allclose(folds.mean(axis=1), table["auc"])
    best = table.groupby(["use", "classifier"])["auc"].transform("max")
    assert table.loc[table["chosen"], "auc"].equals(best[table["chosen"]])
    result = json.loads(Path("data/reports/tune.json").read_text())
    assert result["online"]["random_forest"]["tried"] == 3
    assert "| label_free | logistic " in (tune.FOLDER / "tuning.md").read_text()

    report.write_json(
        tune.CHOSEN, {"label_free": {"random_forest": {"model__min_samples_leaf": 3}}}
    )
    train.main()
    model = TriageModel.load("data/models/label_free.baro")
    assert model.card["settings"] == {"model__min_samples_leaf": 3}
    assert TriageModel.load("data/models/online.baro", "online").card["settings"] == {}
    rows = tables.labelled(tables.read("label_free"), "bauer8")
    chosen = classifier(
        "random_forest", seed=1, trees=8, settings={"model__min_samples_leaf": 3}
    ).fit(rows.matrix, rows.truth)
    np.testing.assert_array_equal(
        model.classifier.predict_proba(rows.matrix), chosen.predict_proba(rows.matrix)
    )


@pytest.mark.usefixtures("described")
def test_tune_sees_only_training_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tables.labelled(tables.read("label_free"), "bauer8")
    split = candidates.held_out(rows, 1)
    seen: list[Any] = []

    def spied(name: str, matrix: Any, *_: Any) -> tuning.Search:
        seen.append((name, matrix))
        return tuning.Search(name, 1, (tuning.Trial({}, 0.5, (0.4, 0.6)),))

    monkeypatch.setattr(tuning, "search", spied)
    tune.main()
    np.testing.assert_array_equal(seen[0][1], rows.matrix[split.train])
    assert tune.chosen_for("label_free", "random_forest") == {}


@pytest.mark.usefixtures("described")
def test_tune_reports_too_few_verdicts() -> None:
    params = Path("params.yaml")
    params.write_text(params.read_text().replace("folds: 3", "folds: 3\n  least_verdicts: 200"))
    tune.main()
    page = (tune.FOLDER / "tuning.md").read_text()
    assert "Not tuned, label_free, logistic: 100 verdicts, 200 are needed." in page
    assert json.loads(tune.CHOSEN.read_text()) == {}
