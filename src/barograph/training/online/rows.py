"""The rows from which the online models learn: every point, with each window behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barograph.detection.online.second_look import SECOND_LOOK_WINDOWS
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.series import Floats, Ints
from barograph.training.online.truth import FIRST, Flags, Truth

Singles = npt.NDArray[np.float32]
WINDOWS = (0, *SECOND_LOOK_WINDOWS)
NAMES = FEATURE_SETS["confirm"]
WIDTH = {"online": len(FEATURE_SETS["online"]), "confirm": len(NAMES)}
# An edge beyond three noise units: points that are easily mistaken are all learned from.
CONSPICUOUS = np.log(4.0)
CALM = 20_000  # of the other quiet rows, so many stand for all
CALM_EACH = 6_000  # where several windows are learned from together


@dataclass(frozen=True)
class Rows:
    """All points of one window.

    Attributes:
        window: how many points have followed.
        splits: the point that is judged.
        X: the columns of `confirm`, in single precision, as trees read them.
        y: whether a change begins exactly there.
        clean: rows to learn from: changes, and those far from any mark.
    """

    window: int
    splits: Ints
    X: Singles
    y: Flags
    clean: Flags

    @property
    def newest(self) -> Ints:
        """The newest point of each row."""
        return self.splits + self.window


def rows_of(truth: Truth, window: int) -> Rows:
    """Describe every point of a window; nothing after its newest point is read."""
    points = np.arange(truth.values.size)
    starts = truth.offsets[truth.series]
    ends = truth.offsets[truth.series + 1]
    splits = points[(points - starts >= FIRST) & (points + window < ends)]
    X = feature_matrix(
        truth.values, starts[splits], splits, splits + window + 1, "confirm", threads=1
    )
    y = np.zeros(truth.values.size, dtype=np.bool_)
    y[truth.changes] = True
    near = truth.marked[splits] | truth.marked[splits + window]
    return Rows(window, splits, X.astype(np.float32), y[splits], y[splits] | ~near)


def lesson(
    parts: Sequence[Rows], allowed: Flags, use: str, generator: np.random.Generator
) -> tuple[Singles, Ints, Floats]:
    """Return rows, classes and weights to learn a use from, out of the points allowed.

    All changes, all conspicuous quiet rows, and a weighted sample of the calm ones.
    """
    X, y, weights = [], [], []
    most = CALM if len(parts) == 1 else CALM_EACH
    edge = NAMES.index("edge")
    for part in parts:
        usable = part.clean & allowed[part.splits]
        vivid = usable & (part.y | (np.abs(part.X[:, edge]) > CONSPICUOUS))
        calm = np.flatnonzero(usable & ~vivid)
        drawn = generator.permutation(calm)[:most]
        chosen = np.concatenate([np.flatnonzero(vivid), drawn])
        X.append(part.X[chosen, : WIDTH[use]])
        y.append(part.y[chosen])
        weight = np.ones(chosen.size)
        weight[chosen.size - drawn.size :] = calm.size / max(1, drawn.size)
        weights.append(weight)
    return np.concatenate(X), np.concatenate(y).astype(np.int64), np.concatenate(weights)
