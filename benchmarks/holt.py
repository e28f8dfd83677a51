"""Holt's alpha and beta per pair of sides, compared with tsfeatures and statsmodels.

The peers minimise another criterion by another method, so their parameters differ. The benchmark
compares the time of a level and a trend parameter for both sides.
"""

import statistics
import warnings
from functools import partial

import numpy as np
from side_by_side import arguments, paired, ratio, show

from barograph.features.holt import holt
from barograph.series import Floats

LENGTHS = ((10, 1), (100, 1), (200, 50))
PAIRS = 200
PEER_PAIRS = 3


def walks(pre: int, after: int) -> list[Floats]:
    """Return the sides of many pairs of autocorrelated sides."""
    generator = np.random.default_rng(1)
    steps, noise = generator.normal(size=(2, PAIRS, pre + after))
    values = 100.0 + steps.cumsum(axis=1) + 3.0 * noise
    return [side for row in values for side in (row[:pre], row[pre:])]


def ours(sides: list[Floats]) -> None:
    """Fit each side."""
    for side in sides:
        holt(side)


def tsfeatures_holt(sides: list[Floats]) -> None:
    """Fit each side; a single value has no result there."""
    import tsfeatures

    for side in sides:
        tsfeatures.holt_parameters(side.copy())


def statsmodels_holt(sides: list[Floats]) -> None:
    """Fit the damped and the undamped model to each side, like our fit."""
    from statsmodels.tsa.holtwinters import Holt

    for side in sides:
        if side.size > 2:
            for damped in (True, False):
                Holt(side, damped_trend=damped, initialization_method="estimated").fit()


def row(pre: int, after: int) -> dict[str, float]:
    """Time all three alternately, and compare them per pair."""
    sides = walks(pre, after)
    few = sides[: 2 * PEER_PAIRS]
    times = paired(
        {
            "ours": partial(ours, sides),
            "tsfeatures": partial(tsfeatures_holt, few),
            "statsmodels": partial(statsmodels_holt, few),
        }
    )
    cells: dict[str, float] = {"pre": pre, "after": after}
    for name in times:
        pairs = PAIRS if name == "ours" else PEER_PAIRS
        cells[f"{name} us"] = 1e6 * statistics.median(times[name]) / pairs
    for name in ("tsfeatures", "statsmodels"):
        cells[f"times {name}"] = PAIRS / PEER_PAIRS * ratio(times[name], times["ours"])
    return cells


def main() -> None:
    """Print the microseconds per pair and the ratio of each peer."""
    options = arguments(str(__doc__)).parse_args()
    warnings.simplefilter("ignore")
    show("Holt's alpha and beta per pair", [row(*length) for length in LENGTHS], options.output)


if __name__ == "__main__":
    main()
