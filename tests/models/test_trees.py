"""Forests as flat arrays equal scikit-learn to the bit, boosted trees XGBoost in float32."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from barograph.models.catalogue import classifier
from barograph.models.kinds import from_arrays, from_fitted
from barograph.models.trees import Boosted, Forest
from barograph.results.series import Floats
from barograph.runtime.errors import ArtifactError, ConfigError


def sample(rows: int, columns: int = 5, seed: int = 0) -> tuple[Floats, Any]:
    generator = np.random.default_rng(seed)
    matrix = generator.standard_normal((rows, columns)).round(2)
    truth = (matrix[:, 0] + matrix[:, 1] ** 2 + generator.standard_normal(rows) > 1).astype(int)
    return matrix, truth


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("options", [{}, {"max_depth": 3}, {"min_samples_leaf": 5}])
def test_predict_proba_equals_scikit_learn(kind: Any, options: dict[str, int]) -> None:
    matrix, truth = sample(400)
    forest = kind(n_estimators=30, random_state=1, **options).fit(matrix, truth)
    fresh = np.concatenate([sample(1003, seed=2)[0], matrix])
    assert np.array_equal(Forest.of(forest).predict_proba(fresh), forest.predict_proba(fresh))


def test_values_on_a_threshold_take_the_same_branch() -> None:
    matrix, truth = sample(300)
    forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(matrix, truth)
    thresholds = np.concatenate([tree.tree_.threshold for tree in forest.estimators_])
    rows = np.repeat(thresholds[:400, None], 5, axis=1)
    assert np.array_equal(Forest.of(forest).predict_proba(rows), forest.predict_proba(rows))


def test_forest_without_splits_equals_scikit_learn() -> None:
    forest = RandomForestClassifier(n_estimators=3).fit(np.zeros((4, 2)), [0, 1, 0, 1])
    flat = Forest.of(forest)
    assert np.array_equal(
        flat.predict_proba(np.ones((2, 2))), forest.predict_proba(np.ones((2, 2)))
    )


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("children", 0, 10**8, "node 0 has the child 100000000,"),
        ("children", 0, 1, "node 0 has the child 1"),
        ("children", 0, -5, "node 0 has the child -5"),
        ("features", 0, 5, "the feature 5 .* do not fit its tree and 5 columns"),
        ("features", 0, -1, "the feature -1"),
        ("thresholds", 0, np.inf, "node 0 has .* the threshold inf,"),
        ("shares", 0, np.nan, "array 'shares': a number is outside 0 to 1"),
        ("roots", 1, 10**9, "the roots must rise"),
        ("roots", 1, 0, "the roots must rise"),
    ],
)
def test_from_arrays_refuses_walks_that_leave_the_arrays(
    name: str, place: int, value: float, message: str
) -> None:
    matrix, truth = sample(200)
    flat = Forest.of(RandomForestClassifier(n_estimators=2, random_state=0).fit(matrix, truth))
    arrays = {key: array.copy() for key, array in flat.arrays().items()}
    arrays[name][place] = value
    with pytest.raises(ArtifactError, match=message):
        Forest.from_arrays(arrays, columns=5)


def test_from_arrays_refuses_children_in_another_tree_and_of_leaves() -> None:
    matrix, truth = sample(200)
    flat = Forest.of(RandomForestClassifier(n_estimators=2, random_state=0).fit(matrix, truth))
    arrays = flat.arrays()
    leaf = int(np.flatnonzero(np.isnan(arrays["thresholds"]))[0])
    second = int(arrays["roots"][1])
    for node, child in ((0, second + 1), (second, second), (leaf, 0), (leaf, leaf + 2)):
        children = arrays["children"].copy()
        children[node] = child
        with pytest.raises(ArtifactError, match=f"node {node} has the child {child},"):
            Forest.from_arrays({**arrays, "children": children}, columns=5)


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 17, 4099])
def test_predict_proba_equals_scikit_learn_for_any_number_of_rows(rows: int) -> None:
    matrix, truth = sample(200)
    forest = RandomForestClassifier(n_estimators=11, random_state=0).fit(matrix, truth)
    fresh = sample(rows, seed=3)[0]
    assert np.array_equal(Forest.of(forest).predict_proba(fresh), forest.predict_proba(fresh))


def test_signed_zeros_and_large_numbers_take_the_same_branch() -> None:
    matrix = np.repeat([[-1.0], [-0.0], [0.0], [1.0]], 5, axis=0)
    forest = RandomForestClassifier(n_estimators=20, random_state=0)
    forest.fit(matrix, (matrix[:, 0] >= 0).astype(int))
    fresh = np.array([[-0.0], [0.0], [1e-45], [-1e-45], [3e38], [-3e38], [0.5], [-0.5]])
    assert np.array_equal(Forest.of(forest).predict_proba(fresh), forest.predict_proba(fresh))


def test_parts_follow_the_decision_paths() -> None:
    matrix, truth = sample(300)
    forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(matrix, truth)
    fresh = sample(40, seed=4)[0]
    base, parts = Forest.of(forest).parts(fresh)
    expected = np.zeros_like(fresh)
    for tree in (estimator.tree_ for estimator in forest.estimators_):
        for row, path in enumerate(tree.decision_path(fresh.astype(np.float32))):
            shares = tree.value[path.indices, 0, 1]
            np.add.at(expected[row], tree.feature[path.indices[:-1]], np.diff(shares) / 20)
    assert np.allclose(parts, expected, rtol=0, atol=1e-12)
    assert np.allclose(base + parts.sum(axis=1), forest.predict_proba(fresh)[:, 1], 0, 1e-12)


def test_from_arrays_refuses_shares_of_one_class() -> None:
    matrix, truth = sample(50)
    arrays = Forest.of(RandomForestClassifier(n_estimators=2).fit(matrix, truth)).arrays()
    with pytest.raises(ArtifactError, match=r"array 'shares': expected two classes, got 1"):
        Forest.from_arrays({**arrays, "shares": arrays["shares"][:, :1].copy()}, columns=5)


COLUMNS = 6


def wide(rows: int, seed: int = 0) -> tuple[Floats, Any]:
    """Return rows of columns of very different sizes."""
    generator = np.random.default_rng(seed)
    matrix = generator.lognormal(size=(rows, COLUMNS)) * 10.0 ** np.arange(-2, 4)
    truth = matrix[:, 2] + matrix[:, 1] ** 2 / 2 + generator.standard_normal(rows) > 2
    return matrix, truth.astype(int)


def boosted(**settings: Any) -> tuple[Any, Boosted]:
    """Return fitted boosted trees as a pipeline, and as they are served."""
    model = classifier("xgboost", seed=3, trees=60, settings=settings).fit(*wide(500))
    served = from_fitted(model)
    assert isinstance(served, Boosted)
    return model, served


FRESH = wide(1000, seed=9)[0]


@pytest.mark.parametrize("rows", [1, 1000])
def test_boosted_trees_equal_the_library(rows: int) -> None:
    model, served = boosted()
    margin = model["model"].predict(FRESH[:rows], output_margin=True)
    assert np.abs(served.margin(FRESH[:rows]) - margin).max() < 1e-5
    expected = model.predict_proba(FRESH[:rows])
    assert np.abs(served.predict_proba(FRESH[:rows]) - expected).max() <= 3e-6


def test_values_on_a_split_take_the_same_branch_in_boosted_trees() -> None:
    generator = np.random.default_rng(5)
    matrix = generator.integers(-3, 4, (400, COLUMNS)).astype(np.float64)
    model = classifier("xgboost", seed=0, trees=30)
    model.fit(matrix, (matrix.sum(axis=1) + generator.standard_normal(400) > 0).astype(int))
    served = from_fitted(model)
    splits = served.arrays()["thresholds"]
    edges = np.unique(splits[np.isfinite(splits)])
    values = np.concatenate([edges, np.nextafter(edges, np.float32(np.inf))]).astype(np.float64)
    rows = np.repeat(values[:, None], COLUMNS, axis=1)
    expected = model["model"].predict(rows, output_margin=True)
    assert isinstance(served, Boosted)
    assert np.abs(served.margin(rows) - expected).max() < 1e-5


def test_boosted_parts_are_proportional_to_those_of_xgboost() -> None:
    import xgboost

    model, served = boosted()
    base, parts = served.parts(FRESH)
    table = xgboost.DMatrix(FRESH)
    booster = model["model"].get_booster()
    theirs = booster.predict(table, pred_contribs=True, approx_contribs=True)
    start, terms = theirs[:, -1], theirs[:, :-1]
    assert np.allclose(1 / (1 + np.exp(-start)), base, rtol=0, atol=1e-5)
    slope = (served.predict_proba(FRESH)[:, 1] - base) / terms.sum(axis=1)
    assert np.allclose(parts, terms * slope[:, None], rtol=0, atol=1e-4)


def test_boosted_parts_are_finite_if_the_steps_cancel_out() -> None:
    arrays = {
        "roots": np.array([0, 3]),
        "thresholds": np.array([0, np.nan, np.nan, 0, np.nan, np.nan], np.float32),
        "features": np.array([0, 0, 0, 1, 0, 0], np.int32),
        "children": np.array([2, 1, 2, 5, 4, 5], np.int32),
        "margins": np.array([[0], [-3], [3], [0], [3], [-3]], np.float32),
        "base": np.zeros(1, np.float32),
    }
    base, parts = from_arrays("boosted", arrays, 2).parts(np.array([[3.0, 3.0], [3.0, -3.0]]))
    assert base == 0.5
    assert parts[0].tolist() == [0.75, -0.75]
    assert parts[1].sum() == pytest.approx(1 / (1 + np.exp(-6)) - 0.5)


@pytest.mark.parametrize(
    ("array", "place", "value", "message"),
    [
        ("margins", 0, np.nan, "a number is not finite"),
        ("base", 0, np.inf, "a number is not finite"),
        ("children", 0, 1 << 30, "node 0 has the child 1073741824,"),
        ("features", 0, COLUMNS, "the feature 6"),
    ],
)
def test_from_arrays_refuses_wrong_numbers_of_boosted_trees(
    array: str, place: int, value: float, message: str
) -> None:
    arrays = {key: array.copy() for key, array in boosted()[1].arrays().items()}
    arrays[array][place] = value
    with pytest.raises(ArtifactError, match=message):
        from_arrays("boosted", arrays, COLUMNS)


@pytest.mark.parametrize("name", ["random_forest", "xgboost"])
def test_from_arrays_refuses_missing_and_misshapen_arrays(name: str) -> None:
    served = from_fitted(classifier(name, seed=3, trees=20).fit(*wide(500)))
    arrays = served.arrays()
    for key, array in arrays.items():
        rest = {other: array for other, array in arrays.items() if other != key}
        with pytest.raises(ArtifactError, match=f"the array '{key}' is missing"):
            from_arrays(served.kind, rest, COLUMNS)
        for wrong in (array[None], np.zeros(array.shape, np.int16)):
            with pytest.raises(ArtifactError, match=f"array '{key}': expected"):
                from_arrays(served.kind, {**rest, key: wrong}, COLUMNS)
    with pytest.raises(ArtifactError, match="do not fit its tree and 3 columns"):
        from_arrays(served.kind, arrays, COLUMNS - 3)


def test_from_fitted_refuses_other_boosters() -> None:
    model = classifier("xgboost", seed=0, trees=2).set_params(model__booster="dart")
    with pytest.raises(ConfigError, match="boosted trees must be gbtree with binary:logistic"):
        from_fitted(model.fit(*wide(100)))


def test_interpreted_walks_equal_compiled_ones() -> None:
    code = (
        "from barograph.runtime import compiled\n"
        "import sys\n"
        "compiled._Process.interprets = sys.argv[1] == 'interpreted'\n"
        "compiled._Process.is_chosen = True\n"
        "import hashlib, numpy as np\n"
        "from barograph.models import TriageModel\n"
        "model = TriageModel.default('label_free')\n"
        "rows = np.random.default_rng(0).normal(size=(30, len(model.columns)))\n"
        "for part in (rows, rows[:1]):\n"
        "    arrays = model.predict_proba(part), model.reasons(part)[1]\n"
        "    print([hashlib.sha256(array.tobytes()).hexdigest() for array in arrays])\n"
    )
    results = [
        subprocess.run(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-c", code, how], capture_output=True, text=True, check=True
        ).stdout
        for how in ("compiled", "interpreted")
    ]
    assert results[0] == results[1]
    assert results[0].count("\n") == 2
