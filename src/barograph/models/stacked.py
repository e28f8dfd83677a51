"""The stacked model of Leznik et al. 2022, 4.3: boosted trees learn when to believe whom.

Their inputs are the deltas and the distance, the score of the voting scheme, and whether a
detector (Perfomalist there, SETDS here) found the point too.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from barograph.models.two_classes import TwoClasses, two_classes
from barograph.models.voting import VotingTriage
from barograph.series import Floats

SETDS = "setds"
SEVENTH = 6  # where the detector's bit stands in a matrix without names


def authors(seed: int) -> Any:
    """Return XGBoost as the authors' code sets it."""
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


class StackedTriage(TwoClasses):
    """Classify candidates as noise (0) or real (1) by one model over votes and a detector.

    Every column but the detector's votes: the one named `setds`, or the seventh of a matrix
    without names.

    Args:
        estimator: What learns from it all; None is XGBoost with the settings of the authors' code.
        published: Whether the votes are weighed as printed in the paper, for the six columns of
            the feature set `leznik`, instead of by the training rows.
        random_state: The seed of XGBoost's rows and columns, where no estimator is given.

    Attributes:
        voting_: The voting scheme whose score is the further column.
        model_: The fitted estimator.
    """

    def __init__(
        self, estimator: Any = None, published: bool = False, random_state: int = 0
    ) -> None:
        self.estimator = estimator
        self.published = published
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Learn the votes, then the model over them."""
        matrix, labels = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2
        )
        self.classes_, truth = two_classes(labels)
        self.voters_ = self._all_but(SETDS, SEVENTH, matrix.shape[1])
        voting = VotingTriage.published() if self.published else VotingTriage()
        self.voting_ = voting if self.published else voting.fit(matrix[:, self.voters_], truth)
        made = authors(self.random_state) if self.estimator is None else clone(self.estimator)
        self.model_ = made.fit(self._stacked(matrix), truth)
        return self

    def predict_proba(self, X: npt.ArrayLike) -> Floats:
        """Return the probability of noise and of a real change for each row."""
        check_is_fitted(self)
        matrix = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False
        )
        found: Floats = self.model_.predict_proba(self._stacked(matrix)).astype(np.float64)
        return found

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the more likely class."""
        probability = self.predict_proba(X)
        answer: npt.NDArray[Any] = self.classes_[probability.argmax(axis=1)]
        return answer

    def _stacked(self, matrix: Floats) -> Floats:
        return np.column_stack([matrix, self.voting_.score_samples(matrix[:, self.voters_])])
