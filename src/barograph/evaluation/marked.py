"""Histories with the marks of several people, and a detector's candidates on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barograph.detection import Hunter
from barograph.evaluation.annotators import MARGIN
from barograph.features import contrast_context, feature_matrix
from barograph.series import Floats, Ints


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
class MarkedCandidates:
    """Candidates, one row each: place, features, and the number of people who marked them."""

    series: Ints
    index: Ints
    X: Floats
    votes: Ints
    people: Ints
    groups: Ints

    @property
    def share(self) -> Floats:
        """The share of people who marked the candidate."""
        share: Floats = self.votes / self.people
        return share

    def where(self, chosen: npt.NDArray[np.bool_]) -> MarkedCandidates:
        """Return a part of the rows."""
        return MarkedCandidates(
            self.series[chosen],
            self.index[chosen],
            self.X[chosen],
            self.votes[chosen],
            self.people[chosen],
            self.groups[chosen],
        )


def marked_candidates(
    marked: Marked, detector: Hunter, feature_set: str = "contrast"
) -> MarkedCandidates:
    """Return a detector's candidates with their features and votes.

    Pre and After reach to the neighbouring candidates. The marks are used only to count the votes.
    """
    candidates = detector.find_many(marked.values, marked.offsets)
    counts = np.array([len(points) for points in candidates], dtype=np.int64)
    series = np.repeat(np.arange(len(marked)), counts)
    index = np.array([point.index for points in candidates for point in points], dtype=np.int64)
    firsts, lasts = marked.offsets[series], marked.offsets[series + 1]
    splits = firsts + index
    inner = series[1:] == series[:-1]
    starts, ends = firsts.copy(), lasts.copy()
    starts[1:][inner] = splits[:-1][inner]
    ends[:-1][inner] = splits[1:][inner]
    context = contrast_context(marked.values, starts, splits, ends, firsts, lasts)
    X = feature_matrix(marked.values, starts, splits, ends, feature_set, context=context)
    votes = [votes_for(int(i), marked.marks[k]) for k, i in zip(series, index, strict=True)]
    people = np.array([len(marks) for marks in marked.marks], dtype=np.int64)
    return MarkedCandidates(
        series, index, X, np.array(votes, dtype=np.int64), people[series], marked.groups[series]
    )


def votes_for(index: int, marks: tuple[tuple[int, ...], ...]) -> int:
    """Return how many people marked a point within the margin."""
    return sum(any(abs(index - mark) <= MARGIN for mark in own) for own in marks)
