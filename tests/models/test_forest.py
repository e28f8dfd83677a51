"""Forests as flat arrays equal scikit-learn to the bit."""

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from barograph.errors import ArtifactError
from barograph.models.flat import FlatForest
from barograph.series import Floats


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
    assert np.array_equal(FlatForest.of(forest).predict_proba(fresh), forest.predict_proba(fresh))


def test_values_on_a_threshold_take_the_same_branch() -> None:
    matrix, truth = sample(300)
    forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(matrix, truth)
    thresholds = np.concatenate([tree.tree_.threshold for tree in forest.estimators_])
    rows = np.repeat(thresholds[:400, None], 5, axis=1)
    assert np.array_equal(FlatForest.of(forest).predict_proba(rows), forest.predict_proba(rows))


def test_forest_without_splits_equals_scikit_learn() -> None:
    forest = RandomForestClassifier(n_estimators=3).fit(np.zeros((4, 2)), [0, 1, 0, 1])
    flat = FlatForest.of(forest)
    assert np.array_equal(
        flat.predict_proba(np.ones((2, 2))), forest.predict_proba(np.ones((2, 2)))
    )


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("children", 0, 10**8, "node 0 has the child 100000000, which is not in its tree"),
        ("children", 0, 1, "node 0 has the child 1"),
        ("children", 0, -5, "node 0 has the child -5"),
        ("features", 0, 5, "feature outside 0 to 4"),
        ("features", 0, -1, "feature outside 0 to 4"),
        ("thresholds", 0, np.inf, "the threshold of node 0 is infinite"),
        ("shares", 0, np.nan, "array 'shares': a number is outside 0 to 1"),
        ("roots", 1, 10**9, "the roots must rise"),
        ("roots", 1, 0, "the roots must rise"),
    ],
)
def test_from_arrays_refuses_walks_that_leave_the_arrays(
    name: str, place: int, value: float, message: str
) -> None:
    matrix, truth = sample(200)
    flat = FlatForest.of(RandomForestClassifier(n_estimators=2, random_state=0).fit(matrix, truth))
    arrays = {key: array.copy() for key, array in flat.arrays().items()}
    arrays[name][place] = value
    with pytest.raises(ArtifactError, match=message):
        FlatForest.from_arrays(arrays, columns=5)


def test_from_arrays_refuses_children_in_another_tree_and_of_leaves() -> None:
    matrix, truth = sample(200)
    flat = FlatForest.of(RandomForestClassifier(n_estimators=2, random_state=0).fit(matrix, truth))
    arrays = flat.arrays()
    leaf = int(np.flatnonzero(np.isnan(arrays["thresholds"]))[0])
    second = int(arrays["roots"][1])
    for node, child in ((0, second + 1), (second, second), (leaf, 0), (leaf, leaf + 2)):
        children = arrays["children"].copy()
        children[node] = child
        with pytest.raises(ArtifactError, match=f"node {node} has the child {child}, which is not"):
            FlatForest.from_arrays({**arrays, "children": children}, columns=5)


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 17, 4099])
def test_predict_proba_equals_scikit_learn_for_any_number_of_rows(rows: int) -> None:
    matrix, truth = sample(200)
    forest = RandomForestClassifier(n_estimators=11, random_state=0).fit(matrix, truth)
    fresh = sample(rows, seed=3)[0]
    assert np.array_equal(FlatForest.of(forest).predict_proba(fresh), forest.predict_proba(fresh))


def test_signed_zeros_and_large_numbers_take_the_same_branch() -> None:
    matrix = np.repeat([[-1.0], [-0.0], [0.0], [1.0]], 5, axis=0)
    forest = RandomForestClassifier(n_estimators=20, random_state=0)
    forest.fit(matrix, (matrix[:, 0] >= 0).astype(int))
    fresh = np.array([[-0.0], [0.0], [1e-45], [-1e-45], [3e38], [-3e38], [0.5], [-0.5]])
    assert np.array_equal(FlatForest.of(forest).predict_proba(fresh), forest.predict_proba(fresh))


def test_parts_follow_the_decision_paths() -> None:
    matrix, truth = sample(300)
    forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(matrix, truth)
    fresh = sample(40, seed=4)[0]
    base, parts = FlatForest.of(forest).parts(fresh)
    expected = np.zeros_like(fresh)
    for tree in (estimator.tree_ for estimator in forest.estimators_):
        for row, path in enumerate(tree.decision_path(fresh.astype(np.float32))):
            shares = tree.value[path.indices, 0, 1]
            np.add.at(expected[row], tree.feature[path.indices[:-1]], np.diff(shares) / 20)
    assert np.allclose(parts, expected, rtol=0, atol=1e-12)
    assert np.allclose(base + parts.sum(axis=1), forest.predict_proba(fresh)[:, 1], 0, 1e-12)


def test_from_arrays_refuses_shares_of_one_class() -> None:
    matrix, truth = sample(50)
    arrays = FlatForest.of(RandomForestClassifier(n_estimators=2).fit(matrix, truth)).arrays()
    with pytest.raises(ArtifactError, match=r"array 'shares': expected two classes, got 1"):
        FlatForest.from_arrays({**arrays, "shares": arrays["shares"][:, :1].copy()}, columns=5)
