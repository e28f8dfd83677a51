import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from barograph.features import FEATURE_SETS
from barograph.models import artifact, triage
from barograph.models.artifact import versions
from barograph.models.calibration import Conformal, Sigmoid, choose_threshold
from barograph.models.catalogue import classifier
from barograph.models.trees import Forest
from barograph.models.triage import USES, TriageModel, file_of
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import ArtifactError, ConfigError, DataError

COLUMNS = ("one", "two")


@pytest.fixture(autouse=True)
def small_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (artifact, triage):
        monkeypatch.setattr(module, "FEATURE_SETS", {**FEATURE_SETS, "small": COLUMNS})


@pytest.fixture
def model() -> TriageModel:
    generator = np.random.default_rng(0)
    matrix = generator.standard_normal((100, 2))
    forest = RandomForestClassifier(n_estimators=7, random_state=0)
    trees = Forest.of(forest.fit(matrix, (matrix[:, 0] > 0).astype(int)))
    return TriageModel("online", "small", COLUMNS, 0.5, trees, {"profile": "test"})


def test_load_restores_a_saved_model(model: TriageModel, tmp_path: Path) -> None:
    model.save(tmp_path / "online.baro")
    again = TriageModel.load(tmp_path / "online.baro")
    rows = np.random.default_rng(1).standard_normal((50, 2))
    assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert (again.use, again.columns, again.threshold) == ("online", COLUMNS, 0.5)
    assert again.card == {"profile": "test"}


@pytest.mark.parametrize("use", USES)
def test_version_survives_saving_and_differs_between_uses(use: str, tmp_path: Path) -> None:
    model = TriageModel.default(use)
    model.save(tmp_path / "same.baro")
    same = TriageModel.load(tmp_path / "same.baro")
    assert same.version == model.version == TriageModel.default(use).version
    assert len({TriageModel.default(other).version for other in USES}) == len(USES)


@pytest.mark.parametrize(
    "change",
    [
        {"use": "confirm"},
        {"feature_set": "large"},
        {"columns": ("two", "one")},
        {"threshold": 0.4},
        {"calibration": Sigmoid(1.0, 0.0)},
        {"calibration": Sigmoid(1.0, 0.5)},
        {"conformal": Conformal(np.array([0.1]), np.array([0.2]))},
        {"versions": {"features": "0"}},
        {"card": {"tails": {"0": {"logits": [0.0], "surprises": [1.0]}}}},
        {"card": {"alarm_thresholds": {"even": {"1": 6.5}}}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_version_changes_with_everything_that_predictions_depend_on(
    model: TriageModel, change: dict[str, Any], tmp_path: Path
) -> None:
    other = replace(model, calibration=Sigmoid(0.5, 0.5), card={"tails": {}})
    assert replace(other, **change).version != other.version
    # Facts about the training do not change predictions.
    facts: dict[str, Any] = {"data_hash": "another", "metrics": {"auc": 0.5}}
    facts["card"] = {**other.card, "rows": 3}
    assert replace(other, **facts).version == other.version
    replace(other, **facts).save(tmp_path / "facts.baro")
    assert TriageModel.load(tmp_path / "facts.baro").version == other.version


def test_version_changes_with_the_arrays(model: TriageModel) -> None:
    matrix = np.random.default_rng(0).standard_normal((100, 2))
    forest = RandomForestClassifier(n_estimators=7, random_state=1)
    other = Forest.of(forest.fit(matrix, (matrix[:, 0] > 0).astype(int)))
    assert replace(model, classifier=other).version != model.version


def test_predict_compares_with_the_threshold(model: TriageModel) -> None:
    rows = np.array([[2.0, 0.0], [-2.0, 0.0]])
    assert model.predict(rows).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0]], r"has the shape \(1, 1\); the feature set 'small' needs .* \['one', 'two'\]"),
        ([1.0, 2.0], r"has the shape \(2,\)"),
        ([[0.0, 1.0], [0.0, np.nan]], r"matrix\[1, two\] is nan; every value must be finite"),
        ([[np.inf, 1.0]], r"matrix\[0, one\] is inf; every value must be finite"),
    ],
)
def test_predict_proba_refuses_wrong_rows(model: TriageModel, rows: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.predict_proba(rows)  # type: ignore[arg-type]


def test_a_table_is_read_by_column_names(model: TriageModel) -> None:
    rows = np.random.default_rng(1).standard_normal((20, 2))
    expected = model.predict_proba(rows)
    frame = pd.DataFrame(rows, columns=COLUMNS)
    assert np.array_equal(model.predict_proba(frame), expected)
    assert np.array_equal(model.predict_proba(frame[["two", "one"]]), expected)
    assert np.array_equal(model.reasons(frame[["two", "one"]])[1], model.reasons(rows)[1])


def test_columns_of_the_wrong_names_are_refused_by_name(model: TriageModel) -> None:
    frame = pd.DataFrame(np.zeros((3, 2)), columns=["one", "three"])
    message = r"misses the columns \['two'\] and has the unknown columns \['three'\]"
    with pytest.raises(DataError, match=message):
        model.predict_proba(frame)
    with pytest.raises(DataError, match="has the unknown columns"):
        model.predict(pd.DataFrame(np.zeros((3, 3)), columns=["one", "two", "index"]))


def test_repr_is_a_few_lines(model: TriageModel) -> None:
    assert repr(model).splitlines() == [
        f"TriageModel(use='online', version='{model.version}')",
        "  features small (2 columns)",
        "  classifier forest, threshold 0.500",
        "  trained on profile test",
    ]
    shipped = repr(TriageModel.default("label_free"))
    assert re.search(r"trained on [\d,]+ rows, [\d,]+ series, .*; AUC 0\.\d{3} on held", shipped)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"use": "dancing"}, "unknown use 'dancing'"),
        ({"threshold": 2}, r"threshold must be from 0 to 1, not 2\.0"),
        ({"threshold": None}, "missing or invalid in the header"),
        ({"columns": ["one"]}, "made for other columns of the feature set 'small', version"),
        ({"kind": ["forest"]}, "unknown kind of model"),
        ({"calibration": ["sigmoid"]}, "unknown calibration"),
        ({"kind": "oracle"}, "unknown kind of model 'oracle'; known kinds"),
        ({"calibration": "magic"}, "unknown calibration 'magic'; known"),
        ({"calibration": "sigmoid"}, "the array 'sigmoid' is missing"),
        ({"conformal": True}, "the array 'conformal_noise' is missing"),
        (
            {"versions": {"features": "0"}},
            "version '0' of the features; this program has version '1'",
        ),
        ({"feature_set": "large"}, "unknown feature set 'large'"),
    ],
)
def test_load_refuses_an_invalid_header(
    model: TriageModel, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    header = {
        "use": "online",
        "feature_set": "small",
        "columns": COLUMNS,
        "threshold": 0.5,
        "kind": "forest",
    } | change
    artifact.write(tmp_path / "model", header, model.classifier.arrays())
    with pytest.raises(ArtifactError, match=message):
        TriageModel.load(tmp_path / "model")


def sample() -> tuple[Floats, Ints]:
    generator = np.random.default_rng(2)
    matrix = generator.standard_normal((400, 2))
    return matrix, (matrix[:, 0] + generator.standard_normal(400) > 0).astype(np.int64)


def trained(name: str, method: str | None = "sigmoid") -> TriageModel:
    """Fit to one half of the sample, calibrate on the other."""
    matrix, truth = sample()
    fitted = classifier(name, seed=0, trees=7).fit(matrix[:200], truth[:200])
    return TriageModel.of(
        fitted,
        "online",
        "small",
        truth=truth[200:],
        score=fitted.predict_proba(matrix[200:])[:, 1],
        method=method,
        data_hash="abc",
        metrics={"auc": 0.9},
    )


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("name", ["random_forest", "svm", "xgboost", "logistic", "most_frequent"])
def test_load_restores_every_kind_of_model(name: str, method: str, tmp_path: Path) -> None:
    model = trained(name, method)
    model.save(tmp_path / "model")
    again = TriageModel.load(tmp_path / "model")
    rows = np.random.default_rng(1).standard_normal((50, 2))
    assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert np.array_equal(again.predict_set(rows), model.predict_set(rows))
    assert again.versions == model.versions == versions()
    assert (again.data_hash, again.metrics) == ("abc", {"auc": 0.9})
    again.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("name", ["random_forest", "xgboost"])
@pytest.mark.parametrize("method", [None, "sigmoid", "isotonic"])
def test_reasons_add_up_to_the_probability(name: str, method: str | None) -> None:
    model = trained(name, method)
    rows = np.random.default_rng(1).standard_normal((50, 2))
    base, parts = model.reasons(rows)
    assert parts.shape == (50, len(model.reason_names))
    total = base + parts.sum(axis=1)
    assert np.allclose(total, model.predict_proba(rows)[:, 1], rtol=0, atol=1e-9)


def test_threshold_is_chosen_on_calibrated_probabilities() -> None:
    matrix, truth = sample()
    for method in (None, "sigmoid", "isotonic"):
        model = trained("random_forest", method)
        probability = model.predict_proba(matrix[200:])[:, 1]
        assert model.threshold == choose_threshold(truth[200:], probability)


def test_predict_set_needs_held_out_scores(model: TriageModel) -> None:
    with pytest.raises(ArtifactError, match="has no held-out scores"):
        model.predict_set([[0.0, 1.0]])


def test_default_loads_the_model_in_the_package(
    model: TriageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barograph.models.triage.resources.files", lambda _: tmp_path)
    with pytest.raises(ArtifactError, match=r"online\.baro: no such file"):
        TriageModel.default("online")
    (tmp_path / "defaults").mkdir()
    model.save(tmp_path / "defaults" / "online.baro")
    assert TriageModel.default("online").columns == COLUMNS
    with pytest.raises(ConfigError, match="unknown use 'dancing'; known: adaptive"):
        TriageModel.default("dancing")


def test_file_of_refuses_an_unknown_use() -> None:
    assert file_of("confirm") == "online.baro"
    with pytest.raises(ConfigError, match="unknown use 'dreaming'; known: adaptive, label_free"):
        file_of("dreaming")
