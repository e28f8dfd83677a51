"""Metrics of scores and decisions against people's verdicts, with their intervals."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn import metrics

from barograph.learning.shares import BINS
from barograph.results.series import Floats
from barograph.runtime.errors import DataError

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
