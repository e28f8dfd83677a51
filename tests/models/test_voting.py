import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from barograph.models.voting import VotingTriage
from barograph.runtime.errors import ArtifactError, DataError
from tests.shared import SHARED, needs_shared

LEZNIK = ["delta_mean", "delta_sd", "delta_hurst", "delta_alpha", "delta_beta", "distance"]


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [VotingTriage(), VotingTriage(use_distance=False)]
)
def test_voting_passes_the_scikit_learn_checks(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke scikit-learn's own warnings
        check(estimator)


def test_fit_learns_medians_sides_and_weights() -> None:
    matrix = [[1.0, 9.0], [2.0, 8.0], [3.0, 2.0], [4.0, 1.0]]
    voting = VotingTriage().fit(matrix, [0, 1, 1, 1])
    assert voting.thresholds_.tolist() == [2.5, 5.0]
    assert voting.above_.tolist() == [True, False]
    assert voting.weights_.tolist() == [1.0, 1.0]
    assert voting.score_samples([[3.0, 9.0]]).tolist() == [0.5]
    assert voting.predict([[3.0, 9.0], [3.0, 1.0]]).tolist() == [0, 1]


def test_nan_does_not_vote() -> None:
    voting = VotingTriage().fit([[1.0, 9.0], [2.0, 8.0], [3.0, 2.0], [4.0, 1.0]], [0, 1, 1, 1])
    assert voting.score_samples([[3.0, np.nan], [np.nan, 9.0], [np.nan, np.nan]]).tolist() == [
        1,
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("frame", "kept"),
    [
        (pd.DataFrame(np.eye(4, 3), columns=["a", "distance", "b"]), [0, 2]),
        (pd.DataFrame(np.eye(4, 3), columns=["a", "b", "c"]), [0, 1, 2]),
        (np.eye(4, 7), [0, 1, 2, 3, 4, 6]),
    ],
)
def test_distance_does_not_vote_unless_used(frame: Any, kept: list[int]) -> None:
    voting = VotingTriage(use_distance=False).fit(frame, [0, 1, 1, 0])
    assert voting.columns_.tolist() == kept


def test_fit_refuses_a_single_class() -> None:
    with pytest.raises(ValueError, match=r"two classes are needed, got 1 class\(es\) \[1\]"):
        VotingTriage().fit([[1.0], [2.0]], [1, 1])


@needs_shared
@pytest.mark.parametrize(
    ("use_distance", "published", "fitted"), [(True, 0.7797, 0.7682), (False, 0.6962, 0.7152)]
)
def test_accuracy_equals_the_published_figures(
    use_distance: bool, published: float, fitted: float
) -> None:
    rows = pd.read_csv(SHARED / "data/mongodb/triaged_points.csv")
    matrix, truth = rows[LEZNIK], (rows["label"] == "true_positive").to_numpy().astype(int)
    printed = VotingTriage.published(use_distance=use_distance)
    assert round(float((printed.predict(matrix.to_numpy()) == truth).mean()), 4) == published
    voting = VotingTriage(use_distance=use_distance).fit(matrix, truth)
    assert round(float((voting.predict(matrix) == truth).mean()), 4) == fitted
    if use_distance:
        assert voting.score_samples(matrix).shape == (15331,)


def test_published_votes_are_cast_by_column_names() -> None:
    rows = np.random.default_rng(0).random((30, 6))
    frame = pd.DataFrame(rows, columns=LEZNIK)
    for use_distance in (True, False):
        printed = VotingTriage.published(use_distance=use_distance)
        expected = printed.predict_proba(rows)
        assert np.array_equal(printed.predict_proba(frame[LEZNIK[::-1]]), expected)
        with pytest.raises(DataError, match=r"misses the columns \['distance'\]"):
            printed.predict(frame.drop(columns="distance"))


def test_votes_with_ranges_of_an_earlier_version_are_refused() -> None:
    voting = VotingTriage().fit(np.eye(6), [0, 1, 1, 0, 0, 1])
    voting.own_ranges = True
    with pytest.raises(ArtifactError, match=r"does not read votes with ranges .* train the model"):
        voting.predict_proba(np.eye(6))
