"""A model of the marks of several people, and the rule for what to report to agree with them.

The model learns from soft labels: the share of people who marked a candidate. The rule selects the
set of candidates with the greatest expected agreement. In `f1_of_marks`, a point that a single
person marked counts for precision, and a point that all people marked counts fully for recall. It
can therefore pay to report a candidate that the majority would not mark, especially in series with
few candidates. With q the probability that a person marks a candidate and n the number of reported
candidates,

    precision = (1 + sum of 1 - (1 - q)^crowd) / (1 + n)
    recall    = (1 + sum of q over the reported) / (1 + sum of q over all)

where the terms 1 are index 0, and `crowd` is the equivalent number of independent people. The best
set of size n consists of the n most probable candidates, so one pass finds the best n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import GroupKFold

from barograph.detection import Hunter
from barograph.features import feature_matrix, series_context
from barograph.features.subseries import SubSeries
from barograph.learning.metrics import f1_of_marks
from barograph.learning.online.truth import Marked
from barograph.results.marks import MARGIN
from barograph.results.series import Floats, Ints
from barograph.runtime.errors import NotEnoughDataError

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
MEMBERS = 4
TREES = 250
FOLDS = 5


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

    def crowded(self) -> MarkedCandidates:
        """Return the rows of series that at least three people looked at."""
        chosen = self.people >= CROWD
        return MarkedCandidates(**{name: column[chosen] for name, column in vars(self).items()})


def marked_candidates(
    marked: Marked, detector: Hunter, columns: str = "contrast"
) -> MarkedCandidates:
    """Return a detector's candidates with a feature set and their votes.

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
    sides = SubSeries(starts, splits, ends)
    context = series_context(columns, marked.values, sides, firsts, lasts)
    X = feature_matrix(marked.values, *sides, columns, context=context)
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
    columns: str
    crowd: float
    threshold: float

    @classmethod
    def fit(
        cls, marked: Marked, make: Callable[[], Any], columns: str = "contrast", seed: int = 0
    ) -> CrowdTriage:
        """Fit the model to every candidate, and choose the rule on held-out groups.

        Args:
            marked: Histories with their marks; those of fewer than three people are left out.
            make: Returns an unfitted classifier that supports sample weights.
            columns: The feature set.
            seed: Seed of the division into held-out groups.
        """
        views = [marked_candidates(marked, source, columns).crowded() for source in TAUGHT]
        X = np.concatenate([rows.X for rows in views])
        share = np.concatenate([rows.share for rows in views])
        groups = np.concatenate([rows.groups for rows in views])
        held_out = held_out_probability(make, X, share, groups, seed)
        loose = views[0]
        crowd, threshold = choose_rule(marked, loose, held_out[: loose.index.size])
        return cls(fit_shares(make(), X, share), columns, crowd, threshold)

    def probability(self, rows: MarkedCandidates) -> Floats:
        """Return the probability that a person marks each candidate."""
        return probability(self.model, rows.X)

    def report(self, marked: Marked) -> dict[int, list[int]]:
        """Return the change points to report, by series."""
        rows = marked_candidates(marked, LOOSE, self.columns)
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
    return float(np.mean([f1_of_marks(chosen.get(k, []), marked.marks[k]) for k in crowded]))


def expected_f1(probability: Floats, crowd: float) -> Floats:
    """Return the expected F1 of reporting the 0, 1, 2, ... most probable candidates."""
    q = np.sort(probability)[::-1]
    reported = np.concatenate(([0.0], np.cumsum(q)))
    marked = np.concatenate(([0.0], np.cumsum(1.0 - (1.0 - q) ** crowd)))
    precision = (1.0 + marked) / (1.0 + np.arange(q.size + 1))
    recall = (1.0 + reported) / (1.0 + reported[-1])
    result: Floats = 2.0 * precision * recall / (precision + recall)
    return result


def best_set(probability: Floats, crowd: float, threshold: float = 0.0) -> Ints:
    """Return the positions of the candidates to report, none less probable than the threshold."""
    count = int(np.argmax(expected_f1(probability, crowd)))
    order = np.argsort(-probability, kind="stable")[:count]
    chosen: Ints = np.sort(order[probability[order] >= threshold])
    return chosen


def strongest_apart(index: Ints, probability: Floats, margin: int) -> Ints:
    """Return positions of candidates more than `margin` apart, preferring the more probable ones.

    Two candidates for one change share its marks, and only one of them can be matched.
    """
    kept: list[int] = []
    for place in np.argsort(-probability, kind="stable"):
        if all(abs(int(index[place]) - int(index[other])) > margin for other in kept):
            kept.append(int(place))
    return np.sort(np.asarray(kept, dtype=np.int64))


def boosted_ensemble(
    seed: int = 0, *, trees: int = TREES, members: int = MEMBERS, threads: int = 1
) -> VotingClassifier:
    """Return an unfitted mean of several boosted models that differ in their seeds.

    The mean varies less between seeds than a single model with the same number of trees. Each tree
    has depth 3 and sees three tenths of the columns, because contrasts are strongly correlated and
    no single one of them should decide.
    """
    from xgboost import XGBClassifier

    def member(number: int) -> Any:
        return XGBClassifier(
            n_estimators=trees,
            max_depth=3,
            learning_rate=15.0 / trees,
            subsample=0.6,
            colsample_bytree=0.3,
            min_child_weight=3,
            reg_lambda=3,
            max_bin=64,
            n_jobs=threads,
            random_state=seed * members + number,
        )

    estimators = [(f"member_{number}", member(number)) for number in range(members)]
    return VotingClassifier(estimators, voting="soft")


def weighted_rows(X: Floats, share: Floats) -> tuple[Floats, Ints, Floats]:
    """Return each row once per class, weighted by the share of the votes for that class."""
    rows = np.concatenate((X, X))
    classes = np.repeat(np.array([1, 0]), share.size)
    weights = np.concatenate((share, 1.0 - share))
    used = weights > 0.0
    return rows[used], classes[used], weights[used]


def fit_shares(model: Any, X: Floats, share: Floats) -> Any:
    """Fit a classifier that accepts sample weights to the share of people who said yes."""
    if not 0.0 <= share.min() < share.max() <= 1.0:
        raise NotEnoughDataError(
            f"the shares range from {share.min()} to {share.max()}; "
            "at least two different ones from 0 to 1 are needed"
        )
    rows, classes, weights = weighted_rows(X, share)
    return model.fit(rows, classes, sample_weight=weights)


def probability(model: Any, X: Floats) -> Floats:
    """Return the probability of the class 1 for each row."""
    if not X.shape[0]:
        return np.empty(0)
    result: Floats = model.predict_proba(X)[:, 1].astype(np.float64)
    return result


def held_out_probability(
    make: Any, X: Floats, share: Floats, groups: npt.ArrayLike, seed: int = 0
) -> Floats:
    """Return the probability of each row, by a model that was not fitted to its group.

    Args:
        make: Returns an unfitted classifier; called once for each fold.
        X: One row of features per candidate.
        share: The share of people who said yes.
        groups: The group of each row. A group is never divided between fitting and prediction.
        seed: Determines which groups share a fold.
    """
    labels = np.asarray(groups)
    count = np.unique(labels).size
    if count < 2:
        raise NotEnoughDataError(f"{count} group; at least 2 are needed to hold one out")
    folds = GroupKFold(min(FOLDS, count), shuffle=True, random_state=seed)
    result: Floats = np.empty(share.size)
    for train, test in folds.split(X, groups=labels):
        result[test] = probability(fit_shares(make(), X[train], share[train]), X[test])
    return result


def _by_series(rows: MarkedCandidates) -> list[tuple[int, Any]]:
    edges = np.flatnonzero(np.diff(rows.series)) + 1
    places = np.split(np.arange(rows.series.size), edges)
    return [(int(rows.series[group[0]]), group) for group in places if group.size]
