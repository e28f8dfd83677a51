"""What counts as a change, and which points are quiet, where several people marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
        offsets = np.asarray(histories.offsets, dtype=np.int64)
        lengths = np.diff(offsets)
        series = np.repeat(np.arange(len(histories)), lengths)
        index = np.arange(histories.values.size) - offsets[series]
        marked = np.zeros(histories.values.size, dtype=np.bool_)
        changes: list[int] = []
        for k, people in enumerate(histories.marks):
            start, end = int(offsets[k]), int(offsets[k + 1])
            for mark in {mark for one in people for mark in one}:
                marked[max(start, start + mark - margin) : min(end, start + mark + margin + 1)] = (
                    True
                )
            changes += [start + c for c in majority_changes(people, margin) if c < end - start]
        return cls(
            histories.values,
            offsets,
            np.asarray(histories.groups, dtype=np.int64),
            series,
            np.array(changes, dtype=np.int64),
            marked,
            index >= FIRST,
        )

    @property
    def quiet(self) -> Flags:
        """Judged points that are far from any mark: an alarm there is false."""
        flags: Flags = self.judged & ~self.marked
        return flags
