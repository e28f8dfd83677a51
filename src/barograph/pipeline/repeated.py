"""Many repetitions of an experiment, each remembered: a run that was killed goes on where it was.

One small file a repetition lies under data/cache/repeated, named by everything that its numbers
depend on: the rows, the split, the settings, the code that learns and judges, and the versions of
the libraries. Nothing is ever read for another experiment, and the folder may be deleted.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from barograph.evaluation.experiment import repetition
from barograph.evaluation.protocols import Split
from barograph.files import whole
from barograph.parallel import map_parallel
from barograph.series import Floats, Ints
from barograph.training.tables import Labelled

CACHE = Path("data/cache/repeated")
LIBRARIES = ("numpy", "scikit-learn", "xgboost")
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Repetition:
    """One classifier, learned and judged on one split."""

    classifier: str
    rows: Labelled
    split: Split
    seed: int
    trees: int
    goal: str

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What a worker needs to know of it."""
        rows = self.rows
        return (self.classifier, rows.matrix, rows.truth, self.split, *self.settings)

    @property
    def settings(self) -> tuple[int, int, str]:
        """What it varies beside the rows and the split."""
        return self.seed, self.trees, self.goal

    @property
    def path(self) -> Path:
        """Where its scores are remembered."""
        digest = hashlib.sha256(self.rows.digest)
        digest.update(repr((self.classifier, self.settings, surroundings())).encode())
        for part in self.split:
            digest.update(b"%d:" % part.size + part.tobytes())
        return CACHE / f"{digest.hexdigest()[:32]}.json"


def repeated(wanted: Sequence[Repetition], label: str) -> list[dict[str, float]]:
    """Return the scores of every repetition, in order; compute those not yet remembered."""
    paths = [one.path for one in wanted]
    waiting = {
        path: (*one.arguments, path)
        for path, one in zip(paths, wanted, strict=True)
        if remembered(path) is None
    }
    known = len(wanted) - len(waiting)
    told = f"{label} ({known} remembered)" if known else label
    results = map_parallel(_judged, list(waiting.values()), label=told)
    found = dict(zip(waiting, results, strict=True))
    return [found[path] if path in found else remembered(path) or {} for path in paths]


def remembered(path: Path) -> dict[str, float] | None:
    """Return the scores in a file, or None where there is none, or none that can be read."""
    try:
        scores: dict[str, float] = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return scores


def _judged(
    name: str,
    matrix: Floats,
    truth: Ints,
    split: Split,
    seed: int,
    trees: int,
    goal: str,
    path: Path,
) -> dict[str, float]:
    """Judge one split in a worker, and write it down there: nothing done is lost."""
    scores = repetition(name, matrix, truth, split, seed=seed, trees=trees, goal=goal)
    with whole(path) as draft:
        draft.write_text(json.dumps(scores), encoding="utf-8")
    return scores


@cache
def surroundings() -> str:
    """Return what numbers depend on beside the data: the code of two rooms, and the libraries."""
    digest = hashlib.sha256(repr([version(name) for name in LIBRARIES]).encode())
    for room in ("models", "evaluation"):
        for source in sorted((ROOT / room).rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()
