"""Histories with the marks of several people, and agreement with these marks.

The measure is that of the Turing Change Point Dataset (van den Burg & Williams 2020). Index 0
counts as a change point that every person marks and every detector finds, so that an empty result
can be correct.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from barograph.learning.matching import pairs
from barograph.results.marks import MARGIN, Marks
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import ConfigError


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


def f1(reported: Iterable[int], marks: Marks) -> float:
    """Return the harmonic mean of precision and recall against several people.

    Precision is the share of the found points that any person marked. Recall is the share of a
    person's marks that were found, averaged over the people. A point matches a mark at most
    `MARGIN` points away; each is used once, and as many as possible are paired.
    """
    if not len(marks):
        raise ConfigError("the series has no annotator: at least one person is needed")
    people = [_with_start(person) for person in marks]
    points = _with_start(reported)
    everyone = set[int]().union(*people)
    precision = len(pairs(points, everyone, MARGIN)) / len(points)
    recall = np.mean([len(pairs(points, person, MARGIN)) / len(person) for person in people])
    return float(2 * precision * recall / (precision + recall))


def _with_start(points: Iterable[int]) -> set[int]:
    return {0, *(int(point) for point in points)}
