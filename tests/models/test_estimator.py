"""Classifiers other than trees: saved without pickle, loaded from a fixed list of types."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from barograph.features import FEATURE_SETS
from barograph.models import TriageModel, artifact
from barograph.models.catalogue import CLASSIFIERS, classifier
from barograph.models.kinds import CONTENT, Estimator, from_arrays, from_fitted
from barograph.models.reasons import explain
from barograph.results.series import Floats
from barograph.runtime.errors import ArtifactError, ConfigError

OTHERS = tuple(name for name in CLASSIFIERS if name not in ("random_forest", "xgboost"))
SETS = {"hybrid": "hybrid"}


def sample(rows: int, columns: int, seed: int = 0) -> tuple[Floats, Any]:
    generator = np.random.default_rng(seed)
    matrix = generator.random((rows, columns))
    truth = matrix[:, 0] + 0.3 * generator.standard_normal(rows) > 0.5
    return matrix, truth.astype(int)


def trained(name: str) -> tuple[Any, TriageModel]:
    """Return a fitted classifier, and the model of it."""
    columns = SETS.get(name, "leznik")
    matrix, truth = sample(400, len(FEATURE_SETS[columns]))
    fitted = classifier(name, seed=3, trees=5).fit(matrix, truth)
    score = fitted.predict_proba(matrix)[:, 1]
    return fitted, TriageModel.of(fitted, "label_free", columns, truth=truth, score=score)


def svm_bytes() -> Any:
    return trained("svm")[1].classifier.arrays()[CONTENT]


@pytest.mark.parametrize("name", OTHERS)
def test_saved_model_predicts_what_the_library_does(name: str, tmp_path: Path) -> None:
    fitted, model = trained(name)
    model.save(tmp_path / "model.baro")
    loaded = TriageModel.load(tmp_path / "model.baro", "label_free")
    assert (loaded.classifier.kind, loaded.version) == ("estimator", model.version)
    fresh = sample(300, len(model.columns), seed=1)[0]
    assert np.array_equal(loaded.classifier.predict_proba(fresh), fitted.predict_proba(fresh))
    assert np.array_equal(loaded.predict_proba(fresh), model.predict_proba(fresh))


@pytest.mark.parametrize("name", OTHERS)
def test_equal_classifiers_give_equal_bytes(name: str) -> None:
    first, kept = trained(name)[1], [object() for _ in range(1000)]
    second = trained(name)[1]
    assert first.classifier.arrays()[CONTENT].tobytes() == (
        second.classifier.arrays()[CONTENT].tobytes()
    )
    assert first.version == second.version
    assert len(kept) == 1000


@pytest.mark.parametrize("name", OTHERS)
def test_a_row_is_judged_alike_alone_and_among_others(name: str) -> None:
    _, model = trained(name)
    fresh = sample(203, len(model.columns), seed=2)[0] * 1.3
    together = model.predict_proba(fresh)
    for size in (1, 2, 7):
        parts = [model.predict_proba(fresh[k : k + size]) for k in range(0, 203, size)]
        assert np.array_equal(np.concatenate(parts), together)


def test_reasons_are_facts_without_parts() -> None:
    _, model = trained("svm")
    rows = sample(2, len(model.columns))[0]
    with pytest.raises(ConfigError, match="only forests and boosted trees give reasons"):
        model.reasons(rows)
    for reasons in explain(model, rows):
        assert reasons
        assert all(reason.part is None for reason in reasons)


def test_a_model_of_an_earlier_version_is_refused_with_the_way_over(tmp_path: Path) -> None:
    header, _ = trained("svm")[1].content()
    artifact.write(tmp_path / "old.baro", {**header, "kind": "voting"}, {"weights": np.ones(6)})
    message = "old.baro: unknown kind of model 'voting'; .* an earlier version saved it, train the"
    with pytest.raises(ArtifactError, match=message):
        TriageModel.load(tmp_path / "old.baro")


@pytest.mark.parametrize("kind", ["oracle", None, ["svm"]])
def test_an_unknown_kind_is_refused_with_the_known_ones(kind: object) -> None:
    with pytest.raises(ArtifactError, match=r"known kinds: \['boosted', 'estimator', 'forest'\]"):
        from_arrays(kind, {}, 6)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (make_pipeline(StandardScaler(), SVC()), "this SVC: .*predict_proba"),
        (
            make_pipeline(MinMaxScaler(), DummyClassifier()),
            r"this Dummy.*_data\.MinMaxScaler,",
        ),
        (LogisticRegression(), r"this LogisticRegression: .* the type sklearn\.linear_model"),
        (
            make_pipeline(FunctionTransformer(np.sqrt), DummyClassifier()),
            r"this Dummy.* numpy\.sqrt,",
        ),
    ],
)
def test_from_fitted_refuses_unsupported_classifiers(model: Any, message: str) -> None:
    matrix, truth = sample(100, 4)
    with pytest.raises(ConfigError, match=f"a model file cannot hold {message}"):
        from_fitted(model.fit(matrix, truth))


def test_from_fitted_refuses_other_classes() -> None:
    matrix, truth = sample(100, 4)
    with pytest.raises(ConfigError, match=r"classes must be 0 and 1, not \[0 2\]"):
        from_fitted(RandomForestClassifier(2).fit(matrix, truth * 2))


class Unknown(DummyClassifier):  # type: ignore[misc]  # scikit-learn ships no types
    """A type that is not in the list."""


@pytest.mark.parametrize(
    "model",
    [Unknown(), RandomForestClassifier(2), make_pipeline(FunctionTransformer(print), SVC())],
)
def test_from_arrays_refuses_types_outside_the_list(model: Any) -> None:
    content = np.frombuffer(skops.io.dumps(model), np.uint8)
    with pytest.raises(ArtifactError, match=r"holds the type .*, which is not allowed"):
        Estimator.from_arrays({CONTENT: content}, 6)


def test_from_arrays_refuses_damaged_objects() -> None:
    content = svm_bytes()
    for wrong in (content[:-40], content[:0], np.zeros(100, np.uint8)):
        with pytest.raises(ArtifactError, match="array 'estimator' cannot be used"):
            Estimator.from_arrays({CONTENT: wrong}, 6)
    with pytest.raises(ArtifactError, match="the array 'estimator' is missing"):
        Estimator.from_arrays({}, 6)
    with pytest.raises(ArtifactError, match="X has 5 features, but StandardScaler is expecting 6"):
        Estimator.from_arrays({CONTENT: content}, 5)


def test_from_arrays_refuses_an_object_that_would_unpack_to_a_large_one() -> None:
    stream = io.BytesIO(svm_bytes().tobytes())
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", bytes(artifact.MAX_BYTES))
    assert len(stream.getvalue()) < 1_000_000
    content = np.frombuffer(stream.getvalue(), np.uint8)
    with pytest.raises(ArtifactError, match="unpacked"):
        Estimator.from_arrays({CONTENT: content}, 6)
