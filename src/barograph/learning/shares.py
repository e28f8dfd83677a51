"""Shares and medians with 95 % intervals, also where observations come in groups."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr

from barograph.results.series import Floats

Z = 1.96  # standard deviations of a 95 % interval
LEVEL = 0.95
BINS = 10  # of equal width, for the calibration


class Share(NamedTuple):
    """How many of how many, with the interval of the share.

    Without any observation the share is unknown: the interval is 0 to 1.
    """

    hits: int
    of: int
    low: float
    high: float

    @property
    def value(self) -> float | None:
        """The share; None without any observation."""
        return self.hits / self.of if self.of else None


class Median(NamedTuple):
    """A median and its interval; None where there are too few values to know it."""

    value: float | None
    low: float | None
    high: float | None
    of: int


class CalibrationBin(NamedTuple):
    """Rows of similar probability: the mean, the share of real ones, its interval, the count."""

    stated: float
    share: float
    low: float
    high: float
    rows: int


def share_of(flags: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> Share:
    """Return the share of flags that are set, with Wilson's interval.

    Args:
        flags: What was observed.
        groups: Observations of one group, such as verdicts on one commit, may all be right or
            wrong together. Kish's effective number of observations, with full correlation in a
            group, takes the place of their number.

    Example:
        >>> hits, of, low, high = share_of([True, True, True, False])
        >>> hits, of, round(low, 2), round(high, 2)
        (3, 4, 0.3, 0.95)
        >>> round(share_of([True, True, True, False], [1, 1, 1, 2]).low, 2)
        0.17
    """
    observed = np.asarray(flags, dtype=np.bool_)
    hits, of = int(observed.sum()), observed.size
    if not of:
        return Share(0, 0, 0.0, 1.0)
    size = float(of)
    if groups is not None:
        sizes = np.unique(np.asarray(groups), return_counts=True)[1].astype(np.float64)
        size = float(sizes.sum() ** 2 / (sizes**2).sum())
    return Share(hits, of, *wilson(hits / of, size))


def wilson(share: float, size: float) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share of `size` observations."""
    scale = 1.0 / (1.0 + Z**2 / size)
    middle = scale * (share + Z**2 / (2 * size))
    half = scale * Z * math.sqrt(share * (1 - share) / size + Z**2 / (4 * size**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def median_of(values: npt.ArrayLike) -> Median:
    """Return the median with the interval between two order statistics (Hahn and Meeker 1991).

    Fewer than six values cannot bound the median with 95 % confidence.

    Example:
        >>> median_of([3, 1, 2])
        Median(value=2.0, low=None, high=None, of=3)
        >>> median_of(range(9))
        Median(value=4.0, low=1.0, high=7.0, of=9)
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    count = ordered.size
    if not count:
        return Median(None, None, None, 0)
    middle = float(np.median(ordered))
    # The interval from the k-th smallest to the k-th largest misses the median with the
    # probability that fewer than k of the values lie on one side of it.
    tails = bdtr(np.arange(count), count, 0.5)
    outside = int(np.searchsorted(2.0 * tails, 1.0 - LEVEL, side="right"))
    if not outside:
        return Median(middle, None, None, count)
    return Median(middle, float(ordered[outside - 1]), float(ordered[-outside]), count)


def calibration_bins(truth: npt.NDArray[np.int64], probability: Floats) -> list[CalibrationBin]:
    """Return the bins of equal width that have rows, with the interval of each share.

    Args:
        truth: 1 for real changes, 0 for noise.
        probability: The stated probabilities.

    Example:
        >>> truth, probability = np.array([0, 0, 1, 1]), np.array([0.05, 0.05, 0.95, 0.95])
        >>> [part.rows for part in calibration_bins(truth, probability)]
        [2, 2]
    """
    number = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    result = []
    for bin_number in np.unique(number):
        inside = number == bin_number
        rows, share = int(inside.sum()), float(truth[inside].mean())
        stated = float(probability[inside].mean())
        result.append(CalibrationBin(stated, share, *wilson(share, rows), rows))
    return result
