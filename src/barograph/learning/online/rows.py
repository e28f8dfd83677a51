"""The rows that the online models learn from: every point of the histories, in each window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from barograph.detection.online.second_look import SECOND_LOOK_WINDOWS
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.learning.continued import WeightedRows
from barograph.learning.online.truth import FIRST, Truth
from barograph.models.trees import Singles
from barograph.results.series import Flags, Floats, Ints

WINDOWS = (0, *SECOND_LOOK_WINDOWS)
NAMES = FEATURE_SETS["confirm"]
WIDTH = {"online": len(FEATURE_SETS["online"]), "confirm": len(NAMES)}
# Quiet points with an edge of more than three noise units are easily mistaken: all are used.
CONSPICUOUS = np.log(4.0)
CALM = 20_000  # a sample of the other quiet rows, weighted to stand for all of them
CALM_EACH = 6_000  # the same for each of several windows
ENOUGH = 1_000  # number of changes from which on no extra positives are needed
FOLLOWING = 4  # points of a new level that make extra positives, at most
WEIGHT = 0.125  # of each: together half of a change


@dataclass(frozen=True)
class Rows:
    """All points of one window.

    Attributes:
        window: The number of points that have followed.
        splits: The point that is judged.
        X: The columns of `confirm`, in single precision, as trees read them.
        y: Whether a change begins exactly there.
        clean: Rows to learn from: changes, and those far from any mark.
        weight: The weight of each row.
    """

    window: int
    splits: Ints
    X: Singles
    y: Flags
    clean: Flags
    weight: Floats

    @property
    def newest(self) -> Ints:
        """The newest point of each row."""
        return self.splits + self.window


def rows_of(truth: Truth, window: int) -> Rows:
    """Describe every point in a window; nothing after its newest point is read."""
    points = np.arange(truth.values.size)
    starts, ends = truth.offsets[truth.series], truth.offsets[truth.series + 1]
    splits = points[(points - starts >= FIRST) & (points + window < ends)]
    bounds = starts[splits], splits, splits + window + 1
    X = feature_matrix(truth.values, *bounds, "confirm", threads=1).astype(np.float32)
    y = truth.share[splits] == 1.0
    near = truth.marked[splits] | truth.marked[splits + window]
    return Rows(window, splits, X, y, y | ~near, truth.weight[truth.series[splits]])


def sample(
    windows: Sequence[Rows], allowed: Flags, use: str, generator: np.random.Generator
) -> WeightedRows:
    """Return what to learn a use from: all changes, and a weighted sample of the quiet points.

    Calm rows are drawn in proportion to their weights, and share the sum of these equally.

    Args:
        windows: The rows of each window of the use.
        allowed: The points that may be used.
        use: `online` or `confirm`.
        generator: Draws the calm rows; conspicuous ones are all used.
    """
    samples = []
    limit = CALM if len(windows) == 1 else CALM_EACH
    for rows in windows:
        usable = rows.clean & allowed[rows.splits]
        certain = usable & (rows.y | (np.abs(rows.X[:, NAMES.index("edge")]) > CONSPICUOUS))
        calm = np.flatnonzero(usable & ~certain)
        share = rows.weight[calm]
        if calm.size > limit:
            total = share.sum()
            calm = generator.choice(calm, limit, p=share / total)
            share = np.full(limit, total / limit)
        chosen = np.concatenate([np.flatnonzero(certain), calm])
        weights = np.concatenate([rows.weight[certain], share])
        samples.append((rows.X[chosen, : WIDTH[use]], rows.y[chosen].astype(np.int64), weights))
    return joined(samples)


def joined(samples: Sequence[WeightedRows]) -> WeightedRows:
    """Return all rows, classes and weights of some samples."""
    X, y, weights = (np.concatenate(column) for column in zip(*samples, strict=True))
    return X, y, weights


@dataclass(frozen=True)
class ExtraPositives:
    """More rows of `online` that look like changes, where histories hold few changes.

    Where some people saw a change and most did not, that is half a positive, and marks hold twice
    as many such points as changes. What window 0 sees of a change is one draw from the new level,
    and the points that follow are others: each is described as if it followed the old level.

    Attributes:
        changes: Where the level of each row begins.
        points: The point that is put in the place of the change.
        X: The columns.
        share: The share of the people who saw the change; 1 where a majority did.
        weights: The weight of each row.
    """

    changes: Ints
    points: Ints
    X: Singles
    share: Floats
    weights: Floats

    @classmethod
    def of(cls, truth: Truth) -> ExtraPositives:
        """Describe disputed points, and the points that follow changes and disputed points.

        A level ends with its series, or where the next one begins. There are no rows if there are
        `ENOUGH` changes.
        """
        places = np.flatnonzero(truth.share)[: None if truth.changes.size < ENOUGH else 0]
        places = places[places - truth.offsets[truth.series[places]] >= FIRST]
        ends = truth.offsets[truth.series[places] + 1]
        ends[:-1] = np.minimum(ends[:-1], places[1:])
        changes, end = np.repeat(places, FOLLOWING + 1), np.repeat(ends, FOLLOWING + 1)
        after = np.tile(np.arange(FOLLOWING + 1), places.size)
        # A change that a majority saw is an ordinary row.
        usable = (changes + after < end) & ((after > 0) | (truth.share[changes] < 1.0))
        changes, after = changes[usable], after[usable]
        weights, share = np.where(after > 0, WEIGHT, 1.0), truth.share[changes]
        points = changes + after
        return cls(changes, points, _in_place(truth, changes, points), share, weights)

    def sample(self, allowed: Flags) -> WeightedRows:
        """Return rows, classes and weights of the points allowed.

        A disputed row is used for both classes, weighted by the share of the people.
        """
        usable = allowed[self.changes] & allowed[self.points]
        X, share, weights = self.X[usable], self.share[usable], self.weights[usable]
        disputed = share < 1.0
        classes = np.repeat([1, 0], [share.size, disputed.sum()])
        votes = np.concatenate([share * weights, ((1.0 - share) * weights)[disputed]])
        return np.concatenate([X, X[disputed]]), classes, votes


def _in_place(truth: Truth, changes: Ints, points: Ints) -> Singles:
    """Describe points in the place of changes, one series at a time: each row copies its past."""
    cuts = np.searchsorted(changes, truth.offsets)
    X = np.empty((changes.size, WIDTH["online"]), dtype=np.float32)
    for first, low, high in zip(truth.offsets[:-1], cuts[:-1], cuts[1:], strict=True):
        if low == high:
            continue
        pairs = zip(changes[low:high], points[low:high], strict=True)
        pieces = [np.append(truth.values[first:c], truth.values[p]) for c, p in pairs]
        ends = np.cumsum([piece.size for piece in pieces])
        starts = np.concatenate([[0], ends[:-1]])
        values = np.concatenate(pieces)
        X[low:high] = feature_matrix(values, starts, ends - 1, ends, "online", threads=1)
    return X
