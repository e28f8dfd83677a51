"""One repetition of an experiment: learn on one part, choose on another, judge on a third."""

from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from barograph.evaluation.metrics import scores
from barograph.evaluation.protocols import Split
from barograph.models.catalogue import classifier
from barograph.models.threshold import choose
from barograph.series import Floats


def repetition(
    name: str,
    matrix: Floats,
    truth: npt.NDArray[np.int64],
    split: Split,
    *,
    seed: int,
    trees: int,
    goal: str,
) -> dict[str, float]:
    """Return the scores of one classifier on one split; the threshold comes from validation."""
    # Several workers share the cores, and a sum over fewer threads must not round otherwise.
    with threadpool_limits(1):
        model = classifier(name, seed=seed, trees=trees)
        model.fit(matrix[split.train], truth[split.train])
        threshold = choose(truth[split.validation], real(model, matrix[split.validation]), goal)
        return scores(truth[split.test], real(model, matrix[split.test]), threshold)


def real(model: Any, matrix: Floats) -> Floats:
    """Return the probability of class 1."""
    probability: Floats = model.predict_proba(matrix)[:, 1]
    return probability


def judged(split: Split, truth: npt.NDArray[np.int64]) -> bool:
    """Whether a split can be learned from and judged: both classes in train and in test."""
    parts = (split.train, split.test)
    return all(np.unique(truth[part]).size == 2 for part in parts) and split.validation.size > 0
