"""Repetitions of an experiment: a classifier is trained and scored on many splits.

Results are cached by everything that they depend on, including the code, so that an interrupted run
of hours continues where it stopped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from barograph.evaluation import resume
from barograph.evaluation.metrics import scores
from barograph.evaluation.protocols import Split
from barograph.models.catalogue import RULES, classifier, real_probability
from barograph.models.threshold import choose_threshold
from barograph.series import Floats, Ints
from barograph.training.tables import Labelled

CACHE = resume.FOLDER / "repeated"
LIBRARIES = ("numpy", "scikit-learn", "xgboost")
ROOMS = ("models", "evaluation", "studies")


@dataclass(frozen=True)
class Repetition:
    """A classifier to train and score on one split."""

    classifier: str
    rows: Labelled
    split: Split
    seed: int
    trees: int
    goal: str

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of `repetition`."""
        rows = self.rows
        return self.classifier, rows.matrix, rows.truth, self.split, *self._settings

    @property
    def path(self) -> Path:
        """The file of its scores."""
        code = resume.code_digest(ROOMS, LIBRARIES)
        settings = (self.rows.digest, self.classifier, self._settings, code)
        return CACHE / f"{resume.key(*settings, *self.split)}.npz"

    @property
    def _settings(self) -> tuple[int, int, str]:
        return self.seed, self.trees, self.goal


def repeat(repetitions: Sequence[Repetition], label: str) -> list[dict[str, float]]:
    """Return the scores of every repetition, in order; compute those that are not cached."""
    calls = [single.arguments for single in repetitions]
    paths = [single.path for single in repetitions]
    return resume.map_resumed(repetition, calls, paths, label)


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
        threshold = RULES.get(name) or choose_threshold(truth[split.validation], validation, goal)
        probability = real_probability(model, matrix[split.test])
        return scores(truth[split.test], probability, threshold)
