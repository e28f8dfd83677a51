"""What our own estimators have in common: two classes, columns that may be missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets


class TwoClasses(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # it ships no types
    """A classifier of two classes that knows what to do with NaN."""

    def _all_but(self, name: str, place: int, columns: int) -> npt.NDArray[np.int64]:
        """Return the columns without the one of a name, or at a place where there are no names."""
        names = getattr(self, "feature_names_in_", None)
        places = range(columns)
        left = [k for k in places if (k != place if names is None else names[k] != name)]
        return np.array(left, dtype=np.int64)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this takes: two classes, and NaN."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        return tags


def two_classes(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return the two classes, sorted, and which each label is; any other count is refused."""
    check_classification_targets(labels)
    classes, truth = np.unique(labels, return_inverse=True)
    if classes.size != 2:
        raise ValueError(
            f"Only binary classification is supported: two classes are needed, got "
            f"{classes.size} class(es) {classes}"
        )
    return classes, truth
