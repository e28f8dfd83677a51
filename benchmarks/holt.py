"""Holt's alpha and beta per pair of sides, beside tsfeatures' and statsmodels' estimates.

The peers minimise another criterion by another method, so their parameters differ: what is compared
is the time that a level and a trend parameter of both sides cost.
"""

import statistics
import warnings
from functools import partial

import numpy as np
from side_by_side import arguments, paired, ratio, show

from barograph.features import holt
from barograph.series import Floats

LENGTHS = ((10, 1), (100, 1), (200, 50))
PAIRS = 200
PEER_PAIRS = 3


def walks(pre: int, after: int) -> tuple[Floats, list[Floats]]:
    """Return many pairs of autocorrelated sides as one array, and each side by itself."""
    generator = np.random.default_rng(1)
    steps, noise = generator.normal(size=(2, PAIRS, pre + after))
    values = 100.0 + steps.cumsum(axis=1) + 3.0 * noise
    sides = [side for row in values for side in (row[:pre], row[pre:])]
    return values.ravel(), sides


def ours(values: Floats, pre: int, after: int) -> None:
    """Fit all pairs in one call."""
    starts = np.arange(PAIRS) * (pre + after)
    out = np.empty((PAIRS, len(holt.NAMES)))
    ends = starts + pre + after
    holt.FAMILY.rows(values, starts, starts + pre, ends, np.empty((PAIRS, 0)), out)


def tsfeatures_holt(sides: list[Floats]) -> None:
    """Fit each side; a single value has no answer there."""
    import tsfeatures

    for side in sides:
        tsfeatures.holt_parameters(side.copy())


def statsmodels_holt(sides: list[Floats]) -> None:
    """Fit the damped and the plain model to each side, as our fit does."""
    from statsmodels.tsa.holtwinters import Holt

    for side in sides:
        if side.size > 2:
            for damped in (True, False):
                Holt(side, damped_trend=damped, initialization_method="estimated").fit()


def row(pre: int, after: int) -> dict[str, float]:
    """Time all three in turn, and compare them per pair."""
    values, sides = walks(pre, after)
    few = sides[: 2 * PEER_PAIRS]
    times = paired(
        {
            "ours": partial(ours, values, pre, after),
            "tsfeatures": partial(tsfeatures_holt, few),
            "statsmodels": partial(statsmodels_holt, few),
        }
    )
    found: dict[str, float] = {"pre": pre, "after": after}
    for name in times:
        pairs = PAIRS if name == "ours" else PEER_PAIRS
        found[f"{name} us"] = 1e6 * statistics.median(times[name]) / pairs
    for name in ("tsfeatures", "statsmodels"):
        found[f"times {name}"] = PAIRS / PEER_PAIRS * ratio(times[name], times["ours"])
    return found


def main() -> None:
    """Print microseconds per pair, and how many times longer each peer takes."""
    options = arguments(str(__doc__)).parse_args()
    warnings.simplefilter("ignore")
    show("Holt's alpha and beta per pair", [row(*length) for length in LENGTHS], options.output)


if __name__ == "__main__":
    main()
