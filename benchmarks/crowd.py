"""A model of the marks of several people, and the rule for what to report to agree with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from expected_f1 import best_set, strongest_apart
from scipy.ndimage import gaussian_filter
from soft_labels import fit_shares, held_out_probability, probability

from barograph.detection import Hunter
from barograph.evaluation.annotators import MARGIN, Marked, f1
from barograph.features import contrast_context, feature_matrix
from barograph.series import Floats, Ints

# The share of fewer people than this says little.
CROWD = 3
# People usually look at the strict candidates. The report is chosen from the loose ones, which
# include changes that the strict ones miss.
STRICT = Hunter(window=50, pvalue=0.001, parity=True)
LOOSE = Hunter(window=50, pvalue=0.01, parity=True)
# Training on the same steps between nearer and farther neighbours makes the ranking robust to them.
TAUGHT = (
    LOOSE,
    STRICT,
    Hunter(window=100, pvalue=0.001, parity=True),
    Hunter(window=50, pvalue=0.05, parity=True),
)
CROWDS = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0)
THRESHOLDS = tuple(round(0.02 * k, 2) for k in range(21))
# The score of a rule is smoothed over its neighbours in both lists, because a single peak is
# chance.
SMOOTHING = (1.0, 2.0)


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
    return sum(any(abs(index - mark) <= MARGIN for mark in places) for places in marks)


@dataclass(frozen=True)
class CrowdTriage:
    """Estimates how likely a person marks a candidate, and selects the candidates to report."""

    model: Any
    crowd: float
    threshold: float

    @classmethod
    def fit(cls, marked: Marked, make: Callable[[], Any], seed: int = 0) -> CrowdTriage:
        """Fit the model to every candidate, and choose the rule on held-out groups.

        Args:
            marked: Histories with their marks; those of fewer than three people are left out.
            make: Returns an unfitted classifier that supports sample weights.
            seed: Seed of the division into held-out groups.
        """
        views = [_crowded(marked_candidates(marked, source)) for source in TAUGHT]
        X = np.concatenate([rows.X for rows in views])
        share = np.concatenate([rows.share for rows in views])
        groups = np.concatenate([rows.groups for rows in views])
        held_out = held_out_probability(make, X, share, groups, seed)
        loose = views[0]
        crowd, threshold = choose_rule(marked, loose, held_out[: loose.index.size])
        return cls(fit_shares(make(), X, share), crowd, threshold)

    def probability(self, rows: MarkedCandidates) -> Floats:
        """Return the probability that a person marks each candidate."""
        return probability(self.model, rows.X)

    def report(self, marked: Marked) -> dict[int, list[int]]:
        """Return the change points to report, by series."""
        rows = marked_candidates(marked, LOOSE)
        return report(rows, self.probability(rows), self.crowd, self.threshold)


def report(
    rows: MarkedCandidates, q: Floats, crowd: float, threshold: float
) -> dict[int, list[int]]:
    """Return the change points that the rule reports, by series that has candidates."""
    chosen = {}
    for series, places in _by_series(rows):
        apart = places[strongest_apart(rows.index[places], q[places], MARGIN)]
        best = apart[best_set(q[apart], crowd, threshold)]
        chosen[series] = rows.index[best].tolist()
    return chosen


def choose_rule(marked: Marked, rows: MarkedCandidates, q: Floats) -> tuple[float, float]:
    """Return the crowd and the threshold whose reports agree best with the marks."""
    mean = np.array(
        [
            [agreement(marked, report(rows, q, crowd, threshold)) for threshold in THRESHOLDS]
            for crowd in CROWDS
        ]
    )
    smooth = gaussian_filter(mean, SMOOTHING, mode="nearest")
    row, column = np.unravel_index(int(np.argmax(smooth)), smooth.shape)
    return CROWDS[row], THRESHOLDS[column]


def agreement(marked: Marked, chosen: dict[int, list[int]]) -> float:
    """Return the mean F1 of the reports over the series with at least three people."""
    crowded = [k for k, marks in enumerate(marked.marks) if len(marks) >= CROWD]
    return float(np.mean([f1(chosen.get(k, []), marked.marks[k]) for k in crowded]))


def _crowded(rows: MarkedCandidates) -> MarkedCandidates:
    return rows.where(rows.people >= CROWD)


def _by_series(rows: MarkedCandidates) -> list[tuple[int, Any]]:
    edges = np.flatnonzero(np.diff(rows.series)) + 1
    places = np.split(np.arange(rows.series.size), edges)
    return [(int(rows.series[group[0]]), group) for group in places if group.size]
