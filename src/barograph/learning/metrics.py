"""Metrics of probabilities against verdicts, and of found change points against known ones.

Counts of pairs are those of Fleming et al. 2023, 4.3. Agreement with the marks of several people is
that of the Turing Change Point Dataset (van den Burg & Williams 2020).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn import metrics

from barograph.learning.shares import BINS
from barograph.results.marks import MARGIN, Marks
from barograph.results.series import Floats
from barograph.runtime.errors import ConfigError, DataError

METRICS = (
    "auc",
    "accuracy",
    "sensitivity",
    "specificity",
    "f1",
    "mcc",
    "average_precision",
    "brier",
    "calibration_error",
)


class Interval(NamedTuple):
    """A mean over repetitions with its 95 % confidence interval."""

    mean: float
    low: float
    high: float


def scores(
    truth: npt.ArrayLike, probability: npt.ArrayLike, threshold: float = 0.5
) -> dict[str, float]:
    """Return every metric of probabilities and of the decisions `probability >= threshold`."""
    y = np.asarray(truth, dtype=np.int64)
    p = np.asarray(probability, dtype=np.float64)
    if np.unique(y).size < 2:
        raise DataError(f"the test part has {y.size} points of one class only: it cannot be scored")
    yes = p >= threshold
    return {
        "auc": float(metrics.roc_auc_score(y, p)),
        "accuracy": float(metrics.accuracy_score(y, yes)),
        "sensitivity": float(metrics.recall_score(y, yes)),
        "specificity": float(metrics.recall_score(y, yes, pos_label=0)),
        "f1": float(metrics.f1_score(y, yes)),
        "mcc": float(metrics.matthews_corrcoef(y, yes)),
        "average_precision": float(metrics.average_precision_score(y, p)),
        "brier": float(np.mean((p - y) ** 2)),
        "calibration_error": calibration_error(y, p),
    }


def calibration_error(truth: npt.NDArray[np.int64], probability: Floats) -> float:
    """Return the expected calibration error: |share of real - mean probability|, by bin."""
    bin_of = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    gap = np.bincount(bin_of, weights=truth - probability, minlength=BINS)
    return float(np.abs(gap).sum() / truth.size)


def interval(values: Sequence[float]) -> Interval:
    """Return the mean and its 95 % t interval; one value has no width, none is NaN."""
    sample = np.asarray(values, dtype=np.float64)
    if not sample.size:
        return Interval(np.nan, np.nan, np.nan)
    mean = float(sample.mean())
    if sample.size < 2:
        return Interval(mean, mean, mean)
    half = float(stats.t.ppf(0.975, sample.size - 1) * sample.std(ddof=1) / np.sqrt(sample.size))
    return Interval(mean, mean - half, mean + half)


def summary(repetitions: Sequence[Mapping[str, float]]) -> dict[str, Interval]:
    """Return the interval of every metric over many repetitions."""
    return {name: _limited(name, interval([r[name] for r in repetitions])) for name in METRICS}


def _limited(name: str, value: Interval) -> Interval:
    lowest = -1.0 if name == "mcc" else 0.0
    return Interval(value.mean, max(value.low, lowest), min(value.high, 1.0))


class Counts(NamedTuple):
    """The numbers of true, false and missed change points."""

    tp: int
    fp: int
    fn: int

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 1 if there is nothing and none is found."""
        return _share(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def printed_rand(self) -> float:
        """The papers' "Rand index": with TN = 0 it is TP / (TP + FP + FN), the Jaccard index."""
        return _share(self.tp, self.tp + self.fp + self.fn)


def pairs(reported: Iterable[int], truth: Iterable[int], margin: int) -> list[tuple[int, int]]:
    """Pair found and true points at most `margin` apart: each at most once, as many as possible.

    The paper marks a true point as visited so that it counts once. All margins are equal, so
    pairing both in order gives the largest number of pairs.
    """
    matched: list[tuple[int, int]] = []
    waiting = iter(sorted(set(truth)))
    known = next(waiting, None)
    for point in sorted(set(reported)):
        while known is not None and known < point - margin:
            known = next(waiting, None)
        if known is not None and known <= point + margin:
            matched.append((point, known))
            known = next(waiting, None)
    return matched


def count(reported: Iterable[int], truth: Iterable[int], margin: int) -> Counts:
    """Count the pairs of `pairs` and the unpaired points on both sides."""
    points, changes = set(reported), set(truth)
    tp = len(pairs(points, changes, margin))
    return Counts(tp, len(points) - tp, len(changes) - tp)


def rand_index(reported: Iterable[int], truth: Iterable[int], length: int) -> float:
    """Return the true Rand index of two segmentations of `length` points.

    It is the share of all pairs of points that both put into one segment, or both into two. There
    is no margin, but a near miss costs little. It is 1 for fewer than two points.
    """
    places = np.arange(length)
    segments = (np.searchsorted(sorted({*side}), places, "right") for side in (reported, truth))
    return float(metrics.rand_score(*segments)) if length > 1 else 1.0


def f1_of_marks(reported: Iterable[int], marks: Marks) -> float:
    """Return the harmonic mean of precision and recall against several people.

    Precision is the share of the found points that any person marked. Recall is the share of a
    person's marks that were found, averaged over the people. A point matches a mark at most
    `MARGIN` points away; each is used once, and as many as possible are paired. Index 0 counts as
    a change point that everybody finds and marks, so that an empty result can be correct.
    """
    if not len(marks):
        raise ConfigError("the series has no annotator: at least one person is needed")
    points, *people = ({0, *map(int, places)} for places in (reported, *marks))
    precision = len(pairs(points, set().union(*people), MARGIN)) / len(points)
    recall = np.mean([len(pairs(points, person, MARGIN)) / len(person) for person in people])
    return float(2 * precision * recall / (precision + recall))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
