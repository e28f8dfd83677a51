"""Our kernels beside libraries that compute the same or the like: the table of docs/features.md.

    python benchmarks/libraries.py

Median CPU time of one side of 100 points on one core, after a first call that compiles.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import tsfeatures
from statsmodels.regression.linear_model import burg
from statsmodels.stats.diagnostic import acorr_ljungbox
from statsmodels.stats.weightstats import ttest_ind
from statsmodels.tsa.holtwinters import ExponentialSmoothing
from threadpoolctl import threadpool_limits

from barograph.detection.hunter import t_test
from barograph.detection.numerics import two_sided
from barograph.features import feature_matrix, holt_ets
from barograph.features.entropy import highest_order, space_for, spectral_entropy
from barograph.features.hurst import hurst, sample_for
from barograph.features.leznik import fit_side
from barograph.features.lumpiness import crossing_points
from barograph.features.serial import LAGS, lag_products
from barograph.features.tsfeatures import FUNCTIONS, numbers_of

SIDE = 100  # points
ROUNDS = 30
VALUES = np.random.default_rng(1).normal(100.0, 2.0, 2 * SIDE)
X = VALUES[:SIDE]


class Pair(NamedTuple):
    """A computation of ours, and that of a library."""

    what: str
    ours: Callable[[], object]
    library: str
    theirs: Callable[[], object]
    repeats: int = 1  # of computations in one call of the library


def cpu(work: Callable[[], object]) -> float:
    """Return the median CPU time of a call, in milliseconds."""
    work()
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        count = 0
        while not count or time.process_time() - began < 1e-3:
            work()
            count += 1
        times.append((time.process_time() - began) / count)
    return 1000.0 * float(np.median(times))


def of_package(name: str) -> Callable[[], object]:
    """Return a call of one function of tsfeatures."""
    function = getattr(tsfeatures, name)
    return lambda: function(X.copy(), freq=1)


def candidate(feature_set: str) -> object:
    """Compute a set for one candidate with two sides of SIDE points."""
    return feature_matrix(VALUES, [0], [SIDE], [2 * SIDE], feature_set, threads=1)


def pairs() -> Iterator[Pair]:
    """Yield the computations."""
    holt_space, hurst_sample = np.empty(holt_ets.WORKSPACE), sample_for(SIDE)
    space, mean = space_for(SIDE), float(X.mean())
    products, work = np.empty(LAGS + 1), np.empty(SIDE + LAGS)
    yield Pair(
        "Holt's alpha and beta",
        lambda: fit_side(X, holt_space),
        "statsmodels `ExponentialSmoothing`",
        lambda: ExponentialSmoothing(X, trend="add").fit(),
    )
    yield Pair(
        "entropy of an AR spectrum; of statsmodels, Burg's recursion alone",
        lambda: spectral_entropy(X, mean, space),
        "statsmodels `burg`",
        lambda: burg(X, highest_order(SIDE)),
    )
    yield Pair(
        "autocorrelations",
        lambda: lag_products(X, products, work),
        "statsmodels `acorr_ljungbox`",
        lambda: acorr_ljungbox(X, lags=[LAGS], boxpierce=True),
    )
    yield Pair(
        "Student's test of two windows",
        lambda: two_sided(t_test(VALUES, 0, SIDE, 2 * SIDE, False, np.empty(2 * SIDE))[0], 198.0),
        "statsmodels `ttest_ind`",
        lambda: ttest_ind(X, VALUES[SIDE:]),
    )
    yield Pair(
        "Hurst exponent (ARFIMA here, rescaled range there)",
        lambda: hurst(X, hurst_sample),
        "tsfeatures `hurst`",
        of_package("hurst"),
    )
    yield Pair(
        "crossing points",
        lambda: crossing_points(X),
        "tsfeatures `crossing_points`",
        of_package("crossing_points"),
    )
    yield Pair(
        "a candidate: `bauer9`, and the set `tsfeatures`",
        lambda: candidate("bauer9"),
        "tsfeatures",
        lambda: numbers_of([X, VALUES[SIDE:]] * 20, FUNCTIONS),
        20,
    )


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print("| computed | kernel, ms | library | library, ms | ratio |")
    print("|---|---|---|---|---|")
    for pair in pairs():
        with threadpool_limits(1):
            ours, theirs = cpu(pair.ours), cpu(pair.theirs) / pair.repeats
        print(f"| {pair.what} | {ours:.3g} | {pair.library} | {theirs:.3g} | {theirs / ours:.0f} |")


if __name__ == "__main__":
    main()
