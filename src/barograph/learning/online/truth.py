"""Which points of histories are changes and which are quiet, by what people marked or decided."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from barograph.learning.annotators import Marked
from barograph.results.marks import MAJORITY, MARGIN, mark_clusters
from barograph.results.series import Flags, Floats, Ints

FIRST = 5  # points of a series before the first that is judged


@dataclass(frozen=True)
class Truth:
    """Histories, one after the other, with the changes that people saw in them.

    Attributes:
        values: All points.
        offsets: Series k owns values[offsets[k]:offsets[k + 1]].
        groups: The group of each series; series of one group are related.
        series: The series of each point.
        changes: The points at which a majority saw a change.
        disputed: The points at which some people did, but no majority.
        shares: The share of the people at each disputed point.
        marked: Points within the margin of any mark.
        judged: Points that a method is judged on: all but the first of each series.
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
    def of(cls, histories: Marked) -> Truth:
        """Read the marks of the people of each series."""
        firsts = np.asarray(histories.offsets, dtype=np.int64)
        lengths = np.diff(firsts)
        marks: list[int] = []
        clusters: list[tuple[int, float]] = []
        for first, length, people in zip(firsts[:-1], lengths, histories.marks, strict=True):
            marks += [int(first) + mark for person in people for mark in person if mark < length]
            clusters += [
                (int(first) + place, share)
                for place, share in mark_clusters(people)
                if place < length
            ]
        groups = np.asarray(histories.groups, dtype=np.int64)
        places = np.array([place for place, _ in clusters], dtype=np.int64)
        shares = np.array([share for _, share in clusters])
        near = np.array(marks, dtype=np.int64)
        return cls._of(histories.values, firsts, groups, places, shares, near)

    @classmethod
    def of_verdicts(
        cls,
        values: Floats,
        offsets: Ints,
        groups: Ints,
        *,
        true: Ints,
        undecided: Ints,
    ) -> Truth:
        """Read people's verdicts on candidates; all points that are not near one are quiet.

        Args:
            values: All points.
            offsets: Where each series begins, and the end of the last.
            groups: The group of each series.
            true: The candidates that people called real changes.
            undecided: The candidates without a verdict; points near one are left out.
        """
        near = np.concatenate([true, undecided])
        return cls._of(values, offsets, groups, np.sort(true), np.ones(true.size), near)

    @classmethod
    def _of(
        cls,
        values: Floats,
        offsets: Ints,
        groups: Ints,
        places: Ints,
        shares: Floats,
        marks: Ints,
    ) -> Truth:
        series = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        edges = np.zeros(values.size + 1, dtype=np.int64)
        np.add.at(edges, np.maximum(offsets[series[marks]], marks - MARGIN), 1)
        np.add.at(edges, np.minimum(offsets[series[marks] + 1], marks + MARGIN + 1), -1)
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
        """Leave points out: nothing is learned from them, and no method is judged on them."""
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
        """The share of the people who saw a change at each point; 1 where a majority did."""
        share = np.zeros(self.values.size)
        share[self.disputed] = self.shares
        share[self.changes] = 1.0
        return share

    @property
    def quiet(self) -> Flags:
        """Judged points that are far from any mark: an alarm there is false."""
        flags: Flags = self.judged & ~self.marked
        return flags
