"""The five features of Leznik et al. 2022 on each side of a candidate.

After is "the possible change point itself and its subsequent measurement" (2.1): two points,
however many more follow. Mean and standard deviation are those of Pre and these two points,
min-max normalised together; Hurst exponent, alpha and beta are those of the raw values. Sides of
one or two values are repeated to four before Hurst and Holt: the published rows have the alpha and
beta of (a, b, a, b) and of (a, a, a, a).
"""

import numpy as np

from barograph.features import bauer, holt_ets
from barograph.features.families import Family
from barograph.features.holt import fit_side
from barograph.features.hurst import hurst
from barograph.features.likelihood import sample_for
from barograph.features.sums import sums_of
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel

AFTER = 2  # points
FEATURES = ("mean", "sd", "hurst", "alpha", "beta")
NAMES = tuple(f"leznik_{side}_{feature}" for side in ("pre", "after") for feature in FEATURES)
_LEVELS = np.array([0, 1, 5, 6])  # columns of means and deviations
_BAUER_LEVELS = np.array([0, 1, 8, 9])  # the same among the columns of `bauer`
_REPEATED = 4


def rows(
    values: Floats, starts: Ints, splits: Ints, ends: Ints, context: Floats, out: Floats
) -> None:
    """Fill one row of `out` per candidate; see `families`.

    As in `bauer`, the kernel puts NaN first where both sides are constant to nearly all digits, or
    near the largest double.
    """
    last = np.minimum(ends, splits + AFTER)
    _fill_rows(values, starts, splits, last, out)
    odd = np.flatnonzero(np.isnan(out[:, 0]))
    if odd.size:
        levels = np.empty((odd.size, len(bauer.NAMES)))
        bauer.rows(values, starts[odd], splits[odd], last[odd], context, levels)
        out[odd[:, None], _LEVELS] = levels[:, _BAUER_LEVELS]


@kernel
def _fill_rows(values: Floats, starts: Ints, splits: Ints, ends: Ints, out: Floats) -> None:
    """Fill one row per candidate; candidates that share a Pre share its Hurst and Holt numbers."""
    size = _REPEATED
    for i in range(out.shape[0]):
        size = max(size, splits[i] - starts[i])
    sample, workspace = sample_for(size), np.empty(holt_ets.WORKSPACE)
    for i in range(out.shape[0]):
        pre, after = values[starts[i] : splits[i]], values[splits[i] : ends[i]]
        if i > 0 and starts[i] == starts[i - 1] and splits[i] == splits[i - 1]:
            out[i, 2:5] = out[i - 1, 2:5]
        else:
            out[i, 2] = hurst(pre, sample)
            out[i, 3], out[i, 4] = fit_side(_repeated(pre), workspace)
        out[i, 7] = hurst(after, sample)
        out[i, 8], out[i, 9] = fit_side(_repeated(after), workspace)
        levels = bauer.levels(pre, sums_of(pre), after, sums_of(after))
        out[i, 0], out[i, 1], out[i, 5], out[i, 6] = levels


@kernel
def _repeated(side: Floats) -> Floats:
    """Return a side of one or two values repeated to four, any other as it is."""
    if side.size > 2:
        return side
    four = np.empty(_REPEATED)
    for t in range(_REPEATED):
        four[t] = side[t % side.size]
    return four


FAMILY = Family(NAMES, rows)
