"""The voting scheme of Leznik et al. 2022: every feature has a weighted vote.

A feature votes for a change on one side of its median; its weight is the share of real changes on
that side (Table 4 in the paper). The score is the weight of the votes for a change divided by the
weight of all votes. A point is a change if its score is above one half.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from barograph.features import FEATURE_SETS
from barograph.models.calibration import ABOVE_HALF
from barograph.models.columns import column_names, select_columns
from barograph.results.series import Flags, Floats, Ints
from barograph.runtime.errors import ArtifactError

DISTANCE = "distance"
DISTANCE_COLUMN = 5  # in a matrix without column names

# Leznik et al. 2022, Table 4 and its text, in the order of these columns.
PUBLISHED_COLUMNS = FEATURE_SETS["leznik"]
PUBLISHED_THRESHOLDS = (0.62, 0.09, 0.31, 0.26, 1.00, 2.48)
PUBLISHED_ABOVE = (True, False, False, True, True, True)
PUBLISHED_WEIGHTS = (
    5708 / 7666,
    4974 / 7665,
    4261 / 7665,
    3963 / 7666,
    3572 / 7666,
    4012 / 7666,
)


class BinaryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # it ships no types
    """A scikit-learn classifier of two classes that accepts NaN."""

    def _columns_except(self, name: str, index: int, columns: int) -> npt.NDArray[np.int64]:
        """Return all columns but the named one, or the one at `index` if there are no names."""
        names = getattr(self, "feature_names_in_", None)
        return np.array(
            [k for k in range(columns) if (k != index if names is None else names[k] != name)],
            dtype=np.int64,
        )

    def _training_data(self, X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Ints]:
        """Return the matrix and the index of the class of each label, and set `classes_`."""
        matrix, labels = validate_data(
            self, X, y, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2
        )
        check_classification_targets(labels)
        self.classes_, truth = np.unique(labels, return_inverse=True)
        if self.classes_.size != 2:
            raise ValueError(
                "Only binary classification is supported: two classes are needed, got "
                f"{self.classes_.size} class(es) {self.classes_}"
            )
        return matrix, truth

    def _new_data(self, X: npt.ArrayLike) -> Floats:
        """Return the matrix to predict."""
        check_is_fitted(self)
        matrix: Floats = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False
        )
        return matrix

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the second class where its probability is above one half."""
        real: Floats = self.predict_proba(X)[:, 1]
        label: npt.NDArray[Any] = self.classes_[(real > 0.5).astype(np.int64)]
        return label

    def __sklearn_tags__(self) -> Any:
        """Declare that the estimator takes two classes, and NaN."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        return tags


class VotingTriage(BinaryClassifier):
    """Classify candidates as noise (0) or real (1) by weighted votes.

    Args:
        use_distance: Whether the distance votes. It is the column named `distance`, or the sixth
            of a matrix without column names.

    Attributes:
        thresholds_: The median of each voting column.
        above_: Whether the column votes for a change from its threshold on, or below it.
        weights_: The share of real changes on the voting side.
        own_threshold: The published rule, a change if the score is above one half.
    """

    own_threshold = ABOVE_HALF

    def __init__(self, use_distance: bool = True) -> None:
        self.use_distance = use_distance

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Learn medians, sides and weights; a NaN is ignored in its column only."""
        matrix, truth = self._training_data(X, y)
        self.columns_ = self._voting(matrix.shape[1])
        votes = [_learn_vote(matrix[:, column], truth == 1) for column in self.columns_]
        self.thresholds_ = np.array([vote[0] for vote in votes])
        self.above_ = np.array([vote[1] for vote in votes])
        self.weights_ = np.array([vote[2] for vote in votes])
        return self

    @classmethod
    def published(cls, *, use_distance: bool = True) -> VotingTriage:
        """Return a fitted scheme with the thresholds and weights printed in the paper.

        Tables are read by the column names of the feature set `leznik`, arrays by their order.
        """
        voting = cls(use_distance=use_distance)
        voting.classes_ = np.array([0, 1])
        voting.n_features_in_ = len(PUBLISHED_WEIGHTS)
        voting.published_columns_ = PUBLISHED_COLUMNS
        voting.columns_ = voting._voting(voting.n_features_in_)
        voting.thresholds_ = np.array(PUBLISHED_THRESHOLDS)[voting.columns_]
        voting.above_ = np.array(PUBLISHED_ABOVE)[voting.columns_]
        voting.weights_ = np.array(PUBLISHED_WEIGHTS)[voting.columns_]
        return voting

    def score_samples(self, X: npt.ArrayLike) -> Floats:
        """Return the normalised score from 0 to 1; a feature that is NaN does not vote."""
        if getattr(self, "own_ranges", False):
            raise ArtifactError(
                "this version does not read votes with ranges of their own, which an earlier "
                "version saved; train the model again with this version"
            )
        published = getattr(self, "published_columns_", None)
        if published is not None and column_names(X) is not None:
            X = select_columns(X, published, "the published scheme")
        matrix = self._new_data(X)[:, self.columns_]
        cast = ~np.isnan(matrix)
        votes = np.where(self.above_, matrix >= self.thresholds_, matrix < self.thresholds_) & cast
        # A matrix product would round a row differently depending on the number of rows.
        total = (cast * self.weights_).sum(axis=1)
        # Without any vote the score is 0.
        score: Floats = (votes * self.weights_).sum(axis=1) / np.where(total > 0, total, 1.0)
        return score

    def predict_proba(self, X: npt.ArrayLike) -> Floats:
        """Return the normalised score as the uncalibrated probability of the second class."""
        score = self.score_samples(X)
        return np.column_stack([1.0 - score, score])

    def _voting(self, columns: int) -> npt.NDArray[np.int64]:
        """Return the columns that vote."""
        return (
            np.arange(columns)
            if self.use_distance
            else self._columns_except(DISTANCE, DISTANCE_COLUMN, columns)
        )


def _learn_vote(values: Floats, real: Flags) -> tuple[float, bool, float]:
    """Return the median of a column, the side that votes, and the share of real changes there."""
    known = ~np.isnan(values)
    if not known.any():
        return np.nan, True, 0.0
    threshold = float(np.median(values[known]))
    upper = real[known & (values >= threshold)]
    lower = real[known & (values < threshold)]
    shares = [float(side.mean()) if side.size else 0.0 for side in (upper, lower)]
    above = shares[0] >= shares[1]
    return threshold, above, max(shares)


def voting(seed: int, trees: int) -> VotingTriage:  # noqa: ARG001 - the signature of the catalogue
    """Return the voting scheme of Leznik et al. 2022, 4.1, on all columns."""
    return VotingTriage()


def delta_votes(seed: int, trees: int) -> VotingTriage:  # noqa: ARG001
    """Return the same scheme without the vote of the distance."""
    return VotingTriage(use_distance=False)
