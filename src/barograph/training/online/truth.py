"""What counts as a change, and which points are quiet, where several people marked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from barograph.evaluation.annotators import MAJORITY, MARGIN, mark_clusters
from barograph.evaluation.marked import Marked
from barograph.series import Floats, Ints

Flags = npt.NDArray[np.bool_]
FIRST = 5  # points of a series before the first that is judged


@dataclass(frozen=True)
class Truth:
    """Histories one behind the other, with what people saw in them.

    Attributes:
        values: all points.
        offsets: series k owns values[offsets[k]:offsets[k + 1]].
        groups: of each series; those of one group are related.
        series: which series each point belongs to.
        changes: the points at which a majority saw a change.
        disputed: the points at which some people did, but not more than half of them.
        shares: how many of the people, at each disputed point.
        marked: points within the margin of anybody's mark.
        judged: points that a method is asked about: all but the first of each series.
    """

    values: Floats
    offsets: Ints
    groups: Ints
    series: Ints
    changes: Ints
    disputed: Ints
    shares: Floats
    marked: Flags
    judged: Flags

    @classmethod
    def of(cls, histories: Marked, margin: int = MARGIN) -> Truth:
        """Read the marks of the people of each series."""
        firsts = np.asarray(histories.offsets, dtype=np.int64)
        lengths = np.diff(firsts)
        seen: list[int] = []
        found: list[tuple[int, float]] = []
        for first, length, people in zip(firsts[:-1], lengths, histories.marks, strict=True):
            seen += [int(first) + mark for one in people for mark in one if mark < length]
            found += [
                (int(first) + c, share) for c, share in mark_clusters(people, margin) if c < length
            ]
        groups = np.asarray(histories.groups, dtype=np.int64)
        places, shares = _ints([place for place, _ in found]), np.array([s for _, s in found])
        return cls._of(histories.values, firsts, groups, places, shares, _ints(seen), margin)

    @classmethod
    def of_verdicts(
        cls,
        values: Floats,
        offsets: Ints,
        groups: Ints,
        *,
        true: Ints,
        undecided: Ints,
        margin: int = MARGIN,
    ) -> Truth:
        """Read what people said of candidates; elsewhere, and where they said false, it is calm.

        Args:
            values: all points.
            offsets: where each series begins, and the end of the last.
            groups: of each series.
            true: the points that were called real changes.
            undecided: those that nobody decided on; what is near one is left out.
            margin: what counts as near.
        """
        both = np.concatenate([true, undecided])
        return cls._of(values, offsets, groups, np.sort(true), np.ones(true.size), both, margin)

    @classmethod
    def _of(
        cls,
        values: Floats,
        offsets: Ints,
        groups: Ints,
        places: Ints,
        shares: Floats,
        seen: Ints,
        margin: int,
    ) -> Truth:
        series = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        edges = np.zeros(values.size + 1, dtype=np.int64)
        np.add.at(edges, np.maximum(offsets[series[seen]], seen - margin), 1)
        np.add.at(edges, np.minimum(offsets[series[seen] + 1], seen + margin + 1), -1)
        marked = np.cumsum(edges[:-1]) > 0
        judged = np.arange(values.size) - offsets[series] >= FIRST
        changes = shares > MAJORITY
        return cls(
            values,
            offsets,
            groups,
            series,
            places[changes],
            places[~changes],
            shares[~changes],
            marked,
            judged,
        )

    def without(self, points: Flags) -> Truth:
        """Leave points out: nothing is learned from them, and no method is asked about them."""
        return replace(
            self,
            changes=self.changes[~points[self.changes]],
            disputed=self.disputed[~points[self.disputed]],
            shares=self.shares[~points[self.disputed]],
            marked=self.marked | points,
            judged=self.judged & ~points,
        )

    @property
    def share(self) -> Floats:
        """For each point, which share of the people saw a change there; 1 where a majority did."""
        share = np.zeros(self.values.size)
        share[self.disputed] = self.shares
        share[self.changes] = 1.0
        return share

    @property
    def quiet(self) -> Flags:
        """Judged points that are far from any mark: an alarm there is false."""
        flags: Flags = self.judged & ~self.marked
        return flags


def _ints(numbers: list[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)
