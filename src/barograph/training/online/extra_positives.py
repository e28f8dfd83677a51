"""More rows of what is scarce: changes as they look at the newest point.

Where some people saw a change and most did not, that is half a lesson, and what is learned from
marks has twice as many such points as changes. What window 0 sees of a change is one draw from the
new level, and the points that follow are others: each is described right behind the history that
ends before the change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from barograph.features import feature_matrix
from barograph.series import Floats, Ints
from barograph.training.online.rows import WIDTH, Singles
from barograph.training.online.truth import FIRST, Flags, Truth

ENOUGH = 1_000  # changes: with so many there is no need of further rows
FOLLOWING = 4  # points of the new level, at most
WEIGHT = 0.125  # of each: together half of a change


@dataclass(frozen=True)
class Scarce:
    """Disputed points, and points that follow changes and disputed ones, as rows of `online`.

    Attributes:
        changes: where each one's level begins.
        points: where each one lies.
        X: the columns, with the point in the place of the change.
        share: of the people who saw the change; 1 where a majority did.
        weights: of each row.
    """

    changes: Ints
    points: Ints
    X: Singles
    share: Floats
    weights: Floats

    @classmethod
    def of(cls, truth: Truth) -> Scarce:
        """Describe them; what follows ends with the series, or where the next change begins.

        There are none where there are enough changes.
        """
        places, ends = _places(truth)
        behind = np.tile(np.arange(FOLLOWING + 1), places.size)
        changes, end = np.repeat(places, FOLLOWING + 1), np.repeat(ends, FOLLOWING + 1)
        # A change that a majority saw is a row of its own.
        wanted = (changes + behind < end) & ((behind > 0) | (truth.share[changes] < 1.0))
        changes, behind = changes[wanted], behind[wanted]
        points, weights = changes + behind, np.where(behind > 0, WEIGHT, 1.0)
        X = _described(truth, changes, points)
        return cls(changes, points, X, truth.share[changes], weights)

    def lesson(self, allowed: Flags) -> tuple[Singles, Ints, Floats]:
        """Return rows, classes and weights, out of the points allowed.

        A disputed row stands for both classes, for each by the share of the people.
        """
        known = allowed[self.changes] & allowed[self.points]
        X, share, weights = self.X[known], self.share[known], self.weights[known]
        doubted = share < 1.0
        classes = np.repeat([1, 0], [share.size, doubted.sum()])
        votes = np.concatenate([share * weights, ((1.0 - share) * weights)[doubted]])
        return np.concatenate([X, X[doubted]]), classes, votes


def _places(truth: Truth) -> tuple[Ints, Ints]:
    """Return where levels begin, and where what is known of each ends."""
    few = truth.changes.size < ENOUGH
    places = np.sort(np.concatenate([truth.changes, truth.disputed]))[: None if few else 0]
    places = places[places - truth.offsets[truth.series[places]] >= FIRST]
    ends = truth.offsets[truth.series[places] + 1]
    ends[:-1] = np.minimum(ends[:-1], places[1:])
    return places, ends


def _described(truth: Truth, changes: Ints, points: Ints) -> Singles:
    """Describe points in the place of changes, a series at a time: each row copies its history."""
    cuts = np.searchsorted(changes, truth.offsets)
    X = np.empty((changes.size, WIDTH["online"]), dtype=np.float32)
    for first, low, high in zip(truth.offsets[:-1], cuts[:-1], cuts[1:], strict=True):
        if low < high:
            X[low:high] = _rows(truth.values, first, changes[low:high], points[low:high])
    return X


def _rows(values: Floats, first: int, changes: Ints, points: Ints) -> Floats:
    ends = np.cumsum(changes - first + 1)
    pieces = [np.append(values[first:c], values[p]) for c, p in zip(changes, points, strict=True)]
    starts = np.concatenate([[0], ends[:-1]])
    return feature_matrix(np.concatenate(pieces), starts, ends - 1, ends, "online", threads=1)
