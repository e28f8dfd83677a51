"""Repetitions of an experiment: a classifier is trained and scored on many splits.

Results are cached by everything that they depend on, including the code, so that an interrupted run
of hours continues where it stopped.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_limits

from barograph.learning import resume
from barograph.learning.metrics import scores
from barograph.learning.protocols import Split
from barograph.learning.tables import Labelled
from barograph.models.catalogue import classifier, own_threshold, real_probability
from barograph.models.threshold import choose_threshold
from barograph.results.series import Floats, Ints

CACHE = resume.FOLDER / "repeated"
LIBRARIES = ("numpy", "scikit-learn", "xgboost")
PACKAGE = Path(__file__).resolve().parent.parent
ROOMS = ("models", "learning", "studies")


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
    def path(self) -> Path:
        """The file of its scores."""
        settings = self.seed, self.trees, self.goal
        facts = self.rows.digest, self.classifier, settings, code_digest()
        return CACHE / f"{resume.key(*facts, *self.split)}.npz"


def repeat(repetitions: Sequence[Repetition], label: str) -> list[dict[str, float]]:
    """Return the scores of every repetition, in order; compute those that are not cached."""
    calls = [
        (r.classifier, r.rows.matrix, r.rows.truth, r.split, r.seed, r.trees, r.goal)
        for r in repetitions
    ]
    return resume.map_resumed(repetition, calls, [r.path for r in repetitions], label)


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


@cache
def code_digest() -> str:
    """Return a hash of the code that the scores depend on, and of the versions of libraries."""
    digest = hashlib.sha256(repr([version(name) for name in LIBRARIES]).encode())
    for room in ROOMS:
        for source in sorted((PACKAGE / room).rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()
