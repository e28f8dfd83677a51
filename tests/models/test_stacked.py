import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from barograph.features import FEATURE_SETS
from barograph.models.stacked import StackedTriage, published_xgboost
from barograph.models.voting import VotingTriage
from barograph.results.series import Floats

NAMES = list(FEATURE_SETS["hybrid"])


# The authors' leaves need 20 / 0.25 = 80 rows each, more than the samples of the checks have, so
# the checks run with smaller leaves.
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [StackedTriage(published_xgboost(0).set_params(min_child_weight=1, n_estimators=30))]
)
def test_stacked_passes_the_scikit_learn_checks(estimator: Any, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke scikit-learn's own warnings
        check(estimator)


def sample() -> tuple[Floats, Any]:
    generator = np.random.default_rng(0)
    matrix = generator.random((600, 7))
    matrix[:, 6] = matrix[:, 6] > 0.5
    return matrix, (matrix[:, 0] + 0.5 * matrix[:, 6] > 0.75).astype(int)


def test_stacked_is_better_than_the_votes() -> None:
    matrix, truth = sample()
    model = StackedTriage().fit(matrix[:400], truth[:400])
    votes = VotingTriage().fit(matrix[:400, :6], truth[:400])
    stacked = (model.predict(matrix[400:]) == truth[400:]).mean()
    assert stacked > (votes.predict(matrix[400:, :6]) == truth[400:]).mean() + 0.05
    assert stacked > 0.9


def test_votes_are_learned() -> None:
    matrix, truth = sample()
    expected = VotingTriage().fit(matrix[:, :6], truth)
    assert np.array_equal(StackedTriage().fit(matrix, truth).voting_.weights_, expected.weights_)


def test_detector_column_is_found_by_its_name() -> None:
    matrix, truth = sample()
    frame = pd.DataFrame(matrix, columns=NAMES)[[NAMES[-1], *NAMES[:-1]]]
    assert StackedTriage().fit(frame, truth).voters_.tolist() == [1, 2, 3, 4, 5, 6]
    assert StackedTriage().fit(matrix, truth).voters_.tolist() == [0, 1, 2, 3, 4, 5]
    assert StackedTriage().fit(matrix[:, :3], truth).voters_.tolist() == [0, 1, 2]


def test_estimator_gets_the_decision_of_the_votes() -> None:
    matrix, truth = sample()
    model = StackedTriage().fit(matrix, truth)
    votes = VotingTriage().fit(matrix[:, :6], truth)
    columns = np.column_stack([matrix, votes.score_samples(matrix[:, :6]) > 0.5])
    assert model.predict_proba(matrix).tolist() == model.model_.predict_proba(columns).tolist()


def test_fit_refuses_a_single_class() -> None:
    with pytest.raises(ValueError, match=r"two classes are needed, got 1 class\(es\) \[1\]"):
        StackedTriage().fit([[1.0], [2.0]], [1, 1])
