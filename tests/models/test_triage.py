from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from barograph.errors import ArtifactError
from barograph.features import FEATURE_SETS
from barograph.models import artifact
from barograph.models.flat import FlatForest
from barograph.models.triage import TriageModel

COLUMNS = ("one", "two")


@pytest.fixture(autouse=True)
def small_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FEATURE_SETS, "small", COLUMNS)


@pytest.fixture
def model() -> TriageModel:
    generator = np.random.default_rng(0)
    matrix = generator.standard_normal((100, 2))
    forest = RandomForestClassifier(n_estimators=7, random_state=0)
    flat = FlatForest.of(forest.fit(matrix, (matrix[:, 0] > 0).astype(int)))
    return TriageModel("online", "small", COLUMNS, 0.5, flat, {"profile": "test"})


def test_saved_and_loaded_it_says_the_same(model: TriageModel, tmp_path: Path) -> None:
    model.save(tmp_path / "online.baro")
    again = TriageModel.load(tmp_path / "online.baro")
    rows = np.random.default_rng(1).standard_normal((50, 2))
    assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert (again.use, again.columns, again.threshold) == ("online", COLUMNS, 0.5)
    assert again.card == {"profile": "test"}


def test_the_threshold_decides_inclusively(model: TriageModel) -> None:
    rows = np.array([[2.0, 0.0], [-2.0, 0.0]])
    assert model.predict(rows).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([[1.0]], r"expected rows of 2 features \('one', 'two'\), got \(1, 1\)"),
        ([1.0, 2.0], r"got \(2,\)"),
        ([[0.0, 1.0], [0.0, np.nan]], "row 1, column two: nan is not finite"),
        ([[np.inf, 1.0]], "row 0, column one: inf is not finite"),
    ],
)
def test_wrong_rows_are_named(model: TriageModel, rows: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        model.predict_proba(rows)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"use": "dancing"}, "made for the use 'dancing'"),
        ({"threshold": 2}, r"threshold 2\.0 lies outside"),
        ({"threshold": None}, "lacks or garbles"),
        ({"columns": ["one"]}, r"made for the columns \('one',\) of the feature set 'small'"),
        ({"feature_set": "large"}, "of the feature set 'large'; this program computes None"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(
    model: TriageModel, tmp_path: Path, change: dict[str, object], says: str
) -> None:
    header = {
        "use": "online",
        "feature_set": "small",
        "columns": COLUMNS,
        "threshold": 0.5,
    } | change
    artifact.write(tmp_path / "model", header, model.forest.arrays())
    with pytest.raises(ArtifactError, match=says):
        TriageModel.load(tmp_path / "model")
