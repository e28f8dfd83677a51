"""What counts as a change, and which points are quiet, where several people marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from barograph.evaluation.annotators import MARGIN
from barograph.evaluation.marked import Marked
from barograph.series import Floats, Ints

Flags = npt.NDArray[np.bool_]
FIRST = 5  # points of a series before the first that is judged


def majority_changes(marks: Sequence[Iterable[int]], margin: int = MARGIN) -> list[int]:
    """Return the medians of those clusters of marks that more than half of the people share.

    A cluster goes on while the next mark lies at most `margin` behind the last one.
    """
    everyone = sorted((int(mark), person) for person, one in enumerate(marks) for mark in one)
    clusters: list[list[tuple[int, int]]] = []
    for mark, person in everyone:
        if clusters and mark - clusters[-1][-1][0] <= margin:
            clusters[-1].append((mark, person))
        else:
            clusters.append([(mark, person)])
    shared = [c for c in clusters if 2 * len({person for _, person in c}) > len(marks)]
    return [int(np.median([mark for mark, _ in cluster])) for cluster in shared]


@dataclass(frozen=True)
class Truth:
    """Histories one behind the other, with what people saw in them.

    Attributes:
        values: all points.
        offsets: series k owns values[offsets[k]:offsets[k + 1]].
        groups: of each series; those of one group are related.
        series: which series each point belongs to.
        changes: the points at which a majority saw a change.
        marked: points within the margin of anybody's mark.
        judged: points that a method is asked about: all but the first of each series.
    """

    values: Floats
    offsets: Ints
    groups: Ints
    series: Ints
    changes: Ints
    marked: Flags
    judged: Flags

    @classmethod
    def of(cls, histories: Marked, margin: int = MARGIN) -> Truth:
        """Read the marks of the people of each series."""
        firsts = np.asarray(histories.offsets, dtype=np.int64)
        lengths = np.diff(firsts)
        seen: list[int] = []
        changes: list[int] = []
        for first, length, people in zip(firsts[:-1], lengths, histories.marks, strict=True):
            seen += [int(first) + mark for one in people for mark in one if mark < length]
            changes += [int(first) + c for c in majority_changes(people, margin) if c < length]
        groups = np.asarray(histories.groups, dtype=np.int64)
        return cls._of(histories.values, firsts, groups, _ints(changes), _ints(seen), margin)

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
        return cls._of(values, offsets, groups, np.sort(true), both, margin)

    @classmethod
    def _of(
        cls, values: Floats, offsets: Ints, groups: Ints, changes: Ints, seen: Ints, margin: int
    ) -> Truth:
        series = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        edges = np.zeros(values.size + 1, dtype=np.int64)
        np.add.at(edges, np.maximum(offsets[series[seen]], seen - margin), 1)
        np.add.at(edges, np.minimum(offsets[series[seen] + 1], seen + margin + 1), -1)
        marked = np.cumsum(edges[:-1]) > 0
        judged = np.arange(values.size) - offsets[series] >= FIRST
        return cls(values, offsets, groups, series, changes, marked, judged)

    def without(self, points: Flags) -> Truth:
        """Leave points out: nothing is learned from them, and no method is asked about them."""
        return replace(
            self,
            changes=self.changes[~points[self.changes]],
            marked=self.marked | points,
            judged=self.judged & ~points,
        )

    @property
    def quiet(self) -> Flags:
        """Judged points that are far from any mark: an alarm there is false."""
        flags: Flags = self.judged & ~self.marked
        return flags


def _ints(numbers: list[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)
