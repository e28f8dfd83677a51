"""Intervals by a bootstrap over series."""

import numpy as np
import numpy.typing as npt

from barograph.evaluation.metrics import Interval

RESAMPLES = 1000


def ratio_interval(
    pairs: npt.NDArray[np.float64], series: npt.ArrayLike, seed: int, resamples: int = RESAMPLES
) -> Interval:
    """Return sum / sum with its 95 % percentile interval over resampled series.

    Cases of one series are no independent witnesses: they are drawn together. Cases without an
    answer (NaN) do not count; without any, nor with denominators of 0 only, there is no number.

    Args:
        pairs: numerator and denominator of each case.
        series: which series each case was made of.
        seed: the same for every detector, so that all are judged on the same resamples.
        resamples: how many.
    """
    known = ~np.isnan(pairs).any(axis=1)
    groups = np.unique(np.asarray(series)[known], return_inverse=True)[1]
    if not groups.size or pairs[known, 1].sum() == 0.0:
        return Interval(np.nan, np.nan, np.nan)
    count = int(groups.max()) + 1
    sums = np.stack([np.bincount(groups, weights=pairs[known, side]) for side in (0, 1)])
    draws = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), resamples)
    top, bottom = draws @ sums[0], draws @ sums[1]
    ratios = top[bottom > 0.0] / bottom[bottom > 0.0]
    low, high = np.percentile(ratios, [2.5, 97.5])
    return Interval(float(sums[0].sum() / sums[1].sum()), float(low), float(high))
