"""Which points of histories are changes and which are quiet, by what people marked or decided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from barograph.results.marks import MAJORITY, MARGIN, mark_clusters
from barograph.results.series import Flags, Floats, Ints

FIRST = 5  # points of a series before the first that is judged


@dataclass(frozen=True)
class Marked:
    """Series with marks; series k has values[offsets[k]:offsets[k + 1]], groups are related."""

    values: Floats
    offsets: Ints
    marks: tuple[tuple[tuple[int, ...], ...], ...]  # per series and person, the marked indices
    groups: Ints

    def __len__(self) -> int:
        """Return the number of series."""
        return len(self.marks)

    def part(self, series: Ints) -> Marked:
        """Return a part of the series, in the given order."""
        pieces = [self.values[self.offsets[k] : self.offsets[k + 1]] for k in series]
        return Marked(
            np.concatenate([np.empty(0), *pieces]),
            np.cumsum([0, *(piece.size for piece in pieces)]),
            tuple(self.marks[k] for k in series),
            self.groups[series],
        )


@dataclass(frozen=True)
class Truth:
    """Histories, one after the other, with the changes that people saw in them.

    Attributes:
        values: All points.
        offsets: Series k owns values[offsets[k]:offsets[k + 1]].
        groups: The group of each series; series of one group are related.
        share: The share of the people who saw a change at each point; 1 where a majority did.
        marked: Points within the margin of any mark.
        judged: Points that a method is judged on: all but the first of each series.
        weight: The weight of each series in learning.
    """

    values: Floats
    offsets: Ints
    groups: Ints
    share: Floats
    marked: Flags
    judged: Flags
    weight: Floats

    @classmethod
    def of(cls, histories: Marked) -> Truth:
        """Read the marks of the people of each series."""
        offsets = np.asarray(histories.offsets, dtype=np.int64)
        share, marks = np.zeros(histories.values.size), []
        for first, end, people in zip(offsets, offsets[1:], histories.marks, strict=False):
            marks += [first + mark for person in people for mark in person if mark < end - first]
            for place, part in mark_clusters(people):
                if place < end - first:
                    share[first + place] = 1.0 if part > MAJORITY else part
        groups = np.asarray(histories.groups, dtype=np.int64)
        return cls._near(histories.values, offsets, groups, share, np.array(marks, dtype=np.int64))

    @classmethod
    def of_verdicts(
        cls, values: Floats, offsets: Ints, groups: Ints, *, true: Ints, undecided: Ints
    ) -> Truth:
        """Read people's verdicts on candidates; all points that are not near one are quiet.

        Args:
            values: All points.
            offsets: Where each series begins, and the end of the last.
            groups: The group of each series.
            true: The candidates that people called real changes.
            undecided: The candidates without a verdict; points near one are left out.
        """
        share = np.zeros(values.size)
        share[true] = 1.0
        return cls._near(values, offsets, groups, share, np.concatenate([true, undecided]))

    @classmethod
    def _near(
        cls, values: Floats, offsets: Ints, groups: Ints, share: Floats, marks: Ints
    ) -> Truth:
        """Return the truth in which points near the marks are marked."""
        judged = np.arange(values.size) - np.repeat(offsets[:-1], np.diff(offsets)) >= FIRST
        marked = within_margin(offsets, marks)
        return cls(values, offsets, groups, share, marked, judged, np.ones(offsets.size - 1))

    def without(self, points: Flags) -> Truth:
        """Leave points out: nothing is learned from them, and no method is judged on them."""
        share = np.where(points, 0.0, self.share)
        return replace(self, share=share, marked=self.marked | points, judged=self.judged & ~points)

    @cached_property
    def series(self) -> Ints:
        """The series of each point."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    @cached_property
    def changes(self) -> Ints:
        """The points at which a majority saw a change."""
        return np.flatnonzero(self.share == 1.0)

    @cached_property
    def disputed(self) -> Ints:
        """The points at which some people did, but no majority."""
        return np.flatnonzero((self.share > 0.0) & (self.share < 1.0))

    @cached_property
    def quiet(self) -> Flags:
        """Judged points that are far from any mark: an alarm there is false."""
        flags: Flags = self.judged & ~self.marked
        return flags


def within_margin(offsets: Ints, places: Ints) -> Flags:
    """Return which points are within the margin of a place in their own series.

    Args:
        offsets: Where each series begins, and the end of the last.
        places: The places, among the points of all series.
    """
    series = np.searchsorted(offsets, places, side="right") - 1
    edges = np.zeros(offsets[-1] + 1, dtype=np.int64)
    np.add.at(edges, np.maximum(offsets[series], places - MARGIN), 1)
    np.add.at(edges, np.minimum(offsets[series + 1], places + MARGIN + 1), -1)
    flags: Flags = np.cumsum(edges[:-1]) > 0
    return flags
