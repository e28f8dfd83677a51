"""The classifiers of scikit-learn and XGBoost: seeded, unfitted, and running on one core.

The settings come from a paper, or from a search by `tuning` on grouped splits of the simulated
history. Every function takes a seed and a number of trees.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import validate_data

from barograph.results.series import Floats


class LogisticByRow(LogisticRegression):  # type: ignore[misc]  # scikit-learn ships no types
    """Logistic regression whose probability of a row does not depend on the other rows."""

    def decision_function(self, X: npt.ArrayLike) -> Floats:
        """Return the log-odds of the second class, or a column for each of several classes."""
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        # A matrix product would round a row differently depending on the number of rows.
        margins: Floats = (rows[:, None] * self.coef_).sum(axis=2) + self.intercept_
        return margins[:, 0] if margins.shape[1] == 1 else margins


def random_forest(seed: int, trees: int) -> RandomForestClassifier:
    """Return the forest of Bauer et al. 2022, 3.1, with leaves of at least five points."""
    return RandomForestClassifier(
        n_estimators=trees, min_samples_leaf=5, max_features=0.35, random_state=seed
    )


def svm(seed: int, trees: int) -> Pipeline:  # noqa: ARG001 - the signature of the catalogue
    """Return a standardised SVM with a radial kernel and Platt's sigmoid of three folds."""
    model = CalibratedClassifierCV(SVC(C=3.0), method="sigmoid", cv=3, ensemble=False)
    return Pipeline([("scale", StandardScaler()), ("model", model)])


def xgboost(seed: int, trees: int) -> Any:
    """Return boosted trees."""
    from xgboost import XGBClassifier  # imported here because it is slow

    return XGBClassifier(
        n_estimators=trees,
        max_depth=6,
        learning_rate=min(0.3, 6.0 / trees),  # tuned with 300 trees; more trees learn more slowly
        subsample=0.9,
        colsample_bytree=0.5,
        tree_method="hist",
        n_jobs=1,
        random_state=seed,
    )


def logistic(seed: int, trees: int) -> Pipeline:  # noqa: ARG001
    """Return standardised logistic regression, the linear baseline."""
    model = LogisticByRow(max_iter=2000, random_state=seed)
    return Pipeline([("scale", StandardScaler()), ("model", model)])


def most_frequent(seed: int, trees: int) -> DummyClassifier:  # noqa: ARG001
    """Return the baseline that predicts the share of real changes for every row."""
    return DummyClassifier(strategy="prior")
