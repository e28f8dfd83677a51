"""The stacked model of Leznik et al. 2022, 4.3: boosted trees over features and votes.

The inputs are the deltas and the distance, the decision of the voting scheme, and how severe the
change is that another detector found there (Perfomalist in the paper, SETDS here), 0 for none.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from barograph.features.setds import NAME as SETDS
from barograph.models.voting import BinaryClassifier, VotingTriage
from barograph.results.series import Floats

SETDS_COLUMN = 6  # in a matrix without column names


def published_xgboost(seed: int) -> Any:
    """Return XGBoost with the settings of the authors' code."""
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=200,
        max_depth=3,
        learning_rate=0.05,
        gamma=0.01,
        colsample_bytree=0.5,
        subsample=0.65,
        min_child_weight=20,
        n_jobs=1,
        random_state=seed,
    )


class StackedTriage(BinaryClassifier):
    """Classify candidates as noise (0) or real (1) by features, votes and another detector.

    All columns vote except the detector's: the column named `setds_severity`, or the seventh of a
    matrix without column names.

    Args:
        estimator: The classifier over all inputs. None is XGBoost with the authors' settings.
        random_state: Seed of XGBoost if no estimator is given.

    Attributes:
        voting_: The voting scheme whose decision is added as a column.
        model_: The fitted estimator.
    """

    def __init__(self, estimator: Any = None, random_state: int = 0) -> None:
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Fit the voting scheme, then the estimator."""
        matrix, truth = self._training_data(X, y)
        self.voters_ = self._columns_except(SETDS, SETDS_COLUMN, matrix.shape[1])
        self.voting_ = VotingTriage().fit(matrix[:, self.voters_], truth)
        estimator = self.estimator
        chosen = published_xgboost(self.random_state) if estimator is None else clone(estimator)
        self.model_ = chosen.fit(self._stacked(matrix), truth)
        return self

    def predict_proba(self, X: npt.ArrayLike) -> Floats:
        """Return the probability of noise and of a real change for each row."""
        matrix = self._new_data(X)
        result: Floats = self.model_.predict_proba(self._stacked(matrix)).astype(np.float64)
        return result

    def _stacked(self, matrix: Floats) -> Floats:
        return np.column_stack([matrix, self.voting_.predict(matrix[:, self.voters_])])


def hybrid(seed: int, trees: int) -> StackedTriage:  # noqa: ARG001 - the signature of the catalogue
    """Return the hybrid of Leznik et al. 2022, 4.3, with the authors' settings of XGBoost."""
    return StackedTriage(published_xgboost(seed))
