"""Repetitions of an experiment: a classifier is trained and scored on many splits."""

from collections.abc import Sequence
from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from barograph.learning.metrics import scores
from barograph.learning.protocols import Split
from barograph.learning.tables import Labelled
from barograph.models.calibration import choose_threshold
from barograph.models.catalogue import classifier, own_threshold, real_probability
from barograph.results.series import Floats, Ints
from barograph.runtime.parallel import map_parallel


@dataclass(frozen=True)
class Repetition:
    """A classifier to train and score on one split."""

    classifier: str
    rows: Labelled
    split: Split
    seed: int
    trees: int
    goal: str


def repeat(repetitions: Sequence[Repetition], label: str) -> list[dict[str, float]]:
    """Return the scores of every repetition, in order."""
    calls = [
        (r.classifier, r.rows.matrix, r.rows.truth, r.split, r.seed, r.trees, r.goal)
        for r in repetitions
    ]
    return list(map_parallel(repetition, calls, label))


def repetition(
    name: str, matrix: Floats, truth: Ints, split: Split, seed: int, trees: int, goal: str
) -> dict[str, float]:
    """Return the scores of one classifier on one split.

    The threshold comes from validation, unless the classifier has a rule of its own.
    """
    # One thread: workers share the cores, and the number of threads must not change the rounding.
    with threadpool_limits(1):
        model = classifier(name, seed=seed, trees=trees)
        model.fit(matrix[split.train], truth[split.train])
        validation = real_probability(model, matrix[split.validation])
        threshold = own_threshold(name) or choose_threshold(
            truth[split.validation], validation, goal
        )
        probability = real_probability(model, matrix[split.test])
        return scores(truth[split.test], probability, threshold)
