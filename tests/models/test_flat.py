"""Every flat model equals its library on unseen rows."""

from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from barograph.errors import ArtifactError, ConfigError
from barograph.models.catalogue import classifier
from barograph.models.flat import FlatBoosted, FlatLinear, FlatSvm, flatten, kind_named
from barograph.series import Floats

COLUMNS = 6


def sample(rows: int, seed: int = 0) -> tuple[Floats, Any]:
    generator = np.random.default_rng(seed)
    matrix = generator.lognormal(size=(rows, COLUMNS)) * 10.0 ** np.arange(-2, 4)
    truth = matrix[:, 2] + matrix[:, 1] ** 2 / 2 + generator.standard_normal(rows) > 2
    return matrix, truth.astype(int)


def fitted(name: str) -> Any:
    return classifier(name, seed=3, trees=60).fit(*sample(500))


FRESH = sample(1000, seed=9)[0]


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("random_forest", 0.0),
        ("svm", 1e-12),
        ("xgboost", 3e-6),
        ("logistic", 1e-12),
        ("most_frequent", 1e-15),
        ("voting", 1e-15),
    ],
)
@pytest.mark.parametrize("rows", [1, 1000])
def test_predict_proba_equals_the_library(name: str, tolerance: float, rows: int) -> None:
    model = fitted(name)
    result = flatten(model).predict_proba(FRESH[:rows])
    expected = model.predict_proba(FRESH[:rows])
    assert np.abs(result - expected).max() <= tolerance
    # The class is the same unless the probability is within the tolerance of one half.
    sure = np.abs(expected[:, 1] - 0.5) > tolerance
    assert np.array_equal(result[sure].argmax(axis=1), expected[sure].argmax(axis=1))


def test_svm_decision_equals_the_library() -> None:
    model = fitted("svm")
    flat = flatten(model)
    assert isinstance(flat, FlatSvm)
    [calibrated] = model["model"].calibrated_classifiers_
    expected = calibrated.estimator.decision_function(model["scale"].transform(FRESH))
    assert np.abs(flat.decision(FRESH) - expected).max() < 1e-10


@pytest.mark.parametrize("rows", [1, 1000])
def test_boosted_margin_equals_the_library(rows: int) -> None:
    model = fitted("xgboost")
    flat = flatten(model)
    assert isinstance(flat, FlatBoosted)
    expected = model["model"].predict(FRESH[:rows], output_margin=True)
    assert np.abs(flat.margin(FRESH[:rows]) - expected).max() < 1e-5


def test_values_on_a_split_take_the_same_branch_in_boosted_trees() -> None:
    generator = np.random.default_rng(5)
    matrix = generator.integers(-3, 4, (400, COLUMNS)).astype(np.float64)
    model = classifier("xgboost", seed=0, trees=30)
    model.fit(matrix, (matrix.sum(axis=1) + generator.standard_normal(400) > 0).astype(int))
    flat = flatten(model)
    splits = flat.arrays()["thresholds"]
    edges = np.unique(splits[np.isfinite(splits)])
    values = np.concatenate([edges, np.nextafter(edges, np.float32(np.inf))]).astype(np.float64)
    rows = np.repeat(values[:, None], COLUMNS, axis=1)
    expected = model["model"].predict(rows, output_margin=True)
    assert isinstance(flat, FlatBoosted)
    assert np.abs(flat.margin(rows) - expected).max() < 1e-5


def test_boosted_parts_are_proportional_to_those_of_xgboost() -> None:
    import xgboost

    model = fitted("xgboost")
    flat = flatten(model)
    base, parts = flat.parts(FRESH)
    table = xgboost.DMatrix(FRESH)
    booster = model["model"].get_booster()
    theirs = booster.predict(table, pred_contribs=True, approx_contribs=True)
    start, terms = theirs[:, -1], theirs[:, :-1]
    assert np.allclose(1 / (1 + np.exp(-start)), base, rtol=0, atol=1e-5)
    slope = (flat.predict_proba(FRESH)[:, 1] - base) / terms.sum(axis=1)
    assert np.allclose(parts, terms * slope[:, None], rtol=0, atol=1e-4)


def test_linear_parts_are_proportional_to_the_terms() -> None:
    model = fitted("logistic")
    base, parts = flatten(model).parts(FRESH)
    terms = model["scale"].transform(FRESH) * model["model"].coef_[0]
    assert np.allclose(parts * terms[:, :1], terms * parts[:, :1], rtol=1e-9, atol=1e-12)
    assert base == pytest.approx(1 / (1 + np.exp(-model["model"].intercept_[0])))


def test_parts_of_the_voting_scheme_are_the_shares_of_the_votes() -> None:
    flat = flatten(fitted("voting"))
    base, parts = flat.parts(FRESH)
    np.testing.assert_allclose(base + parts.sum(axis=1), flat.predict_proba(FRESH)[:, 1])


def test_parts_are_finite_if_the_terms_cancel_out() -> None:
    flat = FlatLinear.from_arrays(
        {
            "mean": np.zeros(2),
            "scale": np.ones(2),
            "weights": np.array([1.0, -1.0]),
            "intercept": np.array([0.0]),
        },
        columns=2,
    )
    base, parts = flat.parts(np.array([[3.0, 3.0], [0.0, 0.0]]))
    assert (base, parts.tolist()) == (0.5, [[0.75, -0.75], [0.0, 0.0]])


BROKEN = [
    ("svm", "support", (0, 0), np.nan, "array 'support' contains a number that is not finite"),
    ("svm", "border", 0, -1.0, r"the kernel's gamma is -1\.0"),
    ("svm", "scale", 0, 0.0, "array 'scale': every number must be above 0"),
    ("logistic", "weights", 0, np.inf, "array 'weights' contains a number that is not finite"),
    ("voting", "above", 0, 0.5, "the votes need sides of 0 or 1"),
    ("xgboost", "margins", 0, np.nan, "a number is not finite"),
    ("xgboost", "base", 0, np.inf, "a number is not finite"),
    (
        "xgboost",
        "children",
        0,
        1 << 30,
        "node 0 has the child 1073741824, which is not in its tree",
    ),
    ("xgboost", "features", 0, COLUMNS, "feature outside 0 to 5"),
]


@pytest.mark.parametrize(("name", "array", "place", "value", "message"), BROKEN)
def test_from_arrays_refuses_wrong_numbers(
    name: str, array: str, place: Any, value: float, message: str
) -> None:
    flat = flatten(fitted(name))
    arrays = {key: array.copy() for key, array in flat.arrays().items()}
    arrays[array][place] = value
    with pytest.raises(ArtifactError, match=message):
        kind_named(flat.kind).from_arrays(arrays, COLUMNS)


@pytest.mark.parametrize("name", ["random_forest", "svm", "xgboost", "logistic", "voting"])
def test_from_arrays_refuses_missing_and_misshapen_arrays(name: str) -> None:
    flat = flatten(fitted(name))
    arrays = flat.arrays()
    for key, runs_there in arrays.items():
        rest = {other: array for other, array in arrays.items() if other != key}
        with pytest.raises(ArtifactError, match=f"the array '{key}' is missing"):
            kind_named(flat.kind).from_arrays(rest, COLUMNS)
        with pytest.raises(ArtifactError, match=f"array '{key}': expected"):
            kind_named(flat.kind).from_arrays({**rest, key: runs_there[None]}, COLUMNS)
        with pytest.raises(ArtifactError, match=f"array '{key}': expected"):
            kind_named(flat.kind).from_arrays(
                {**rest, key: np.zeros(runs_there.shape, np.int16)}, COLUMNS
            )
    with pytest.raises(ArtifactError):
        kind_named(flat.kind).from_arrays(arrays, COLUMNS - 3)


def test_flatten_refuses_unsupported_classifiers() -> None:
    matrix, truth = sample(100)
    with pytest.raises(ConfigError, match="a DummyClassifier has no flat form"):
        flatten(DummyClassifier(strategy="uniform").fit(matrix, truth))
    with pytest.raises(ConfigError, match=r"classes must be 0 and 1, not \[0 2\]"):
        flatten(RandomForestClassifier(2).fit(matrix, truth * 2))
    with pytest.raises(ConfigError, match="a SVC has no flat form"):
        flatten(make_pipeline(StandardScaler(), SVC()).fit(matrix, truth))
    with pytest.raises(ConfigError, match="only one StandardScaler may precede"):
        flatten(make_pipeline(MinMaxScaler(), SVC()).fit(matrix, truth))
    ensemble = classifier("svm", seed=0, trees=1).set_params(model__ensemble=True)
    with pytest.raises(ConfigError, match="fit it with ensemble=False"):
        flatten(ensemble.fit(matrix, truth))
    dart = classifier("xgboost", seed=0, trees=2).set_params(model__booster="dart")
    with pytest.raises(ConfigError, match="boosted trees must be gbtree with binary:logistic"):
        flatten(dart.fit(matrix, truth))
