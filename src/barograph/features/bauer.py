"""The characteristics of Bauer et al. 2022: eight per side, or nine with the Hurst exponent.

Mean and standard deviation are those of each side after min-max normalisation of both together
(2.1 and 3.1): with z = (x - min) / (max - min) over Pre and After together, the mean and the
unbiased standard deviation of each part; both follow from the raw sums.
"""

import math

import numpy as np
import numpy.typing as npt

from barograph.features import hurst
from barograph.features.entropy import Space, space_for, spectral_entropy
from barograph.features.families import Derived, Family, one_pair
from barograph.features.lumpiness import (
    crossing_points,
    cut,
    lumpiness_and_stability,
    max_level_shift,
)
from barograph.features.serial import LAGS, lag_products, serial_correlation
from barograph.features.sums import HUGE, LARGEST, TINY, Sums, mean, sums_of, variance
from barograph.results.series import Floats, Ints
from barograph.runtime.compiled import kernel

EIGHT = (
    "norm_mean",
    "norm_sd",
    "lumpiness",
    "stability",
    "entropy",
    "crossing_points",
    "max_level_shift",
    "serial_correlation",
)
NINE = (*EIGHT[:-1], "hurst", EIGHT[-1])  # in the authors' order
NAMES = tuple(f"{side}_{name}" for side in ("pre", "after") for name in EIGHT)
NAMES_OF_NINE = tuple(f"{side}_{name}" for side in ("pre", "after") for name in NINE)

# Sums of a few values beyond this overflow: such sides are computed in a smaller unit.
_LARGE = 1e300
_UNIT = 2.0**40
# Two values that differ by more than this share of the largest one differ in 15 digits.
SURELY_DIFFERENT = 1.0000001e-14
# Relative changes are clipped to this magnitude.
LIMIT = 1000.0


def characteristics(pre: npt.ArrayLike, after: npt.ArrayLike) -> dict[str, float]:
    """Return nine characteristics of each side of a candidate, in the authors' order.

    Args:
        pre: The values before the candidate, at least one.
        after: The values from the candidate on, at least one.

    Raises:
        ValueError: A side is empty, not one-dimensional, or holds something that is not a finite
            number; the message names the side, the index and the value.
    """
    return one_pair(WITH_HURST, pre, after)


def rows(
    values: Floats, starts: Ints, splits: Ints, ends: Ints, context: Floats, out: Floats
) -> None:
    """Fill one row of `out` per candidate; see `families`.

    The kernel puts NaN first in the few rows that it cannot compute: both sides constant to nearly
    all digits, or values near the largest double. They are computed here.
    """
    del context
    bauer_rows(values, starts, splits, ends, out)
    for i in np.flatnonzero(np.isnan(out[:, 0])):
        _finish(values[starts[i] : ends[i]], int(splits[i] - starts[i]), out[i])


def _finish(both: Floats, split: int, out: Floats) -> None:
    """Compute one row that the kernel could not."""
    low, high = float(both.min()), float(both.max())
    unit = _UNIT if max(-low, high) > _LARGE else 1.0
    both = both / unit
    if unit != 1.0:
        bounds = np.array([[0], [split], [both.size]])
        bauer_rows(both, bounds[0], bounds[1], bounds[2], out.reshape(1, -1))
    constant = prints_alike(low, high)
    if np.isnan(out[0]):
        for side, first in ((both[:split], 0), (both[split:], 8)):
            sums = sums_of(side)
            out[first : first + 2] = (
                raw(sums) if constant else normalised(side, sums, low / unit, high / unit)
            )
    if unit != 1.0:
        _enlarge(out, [0, 1, 6, 8, 9, 14] if constant else [6, 14])


def _enlarge(out: Floats, columns: list[int]) -> None:
    """Scale columns back to the unit of the values, limited to the largest double."""
    limit = LARGEST / _UNIT
    out[columns] = np.clip(out[columns], -limit, limit) * _UNIT


@kernel
def bauer_rows(values: Floats, starts: Ints, splits: Ints, ends: Ints, out: Floats) -> None:
    """Fill one row per candidate, with NaN first where `rows` has to compute it."""
    size = 0
    for i in range(out.shape[0]):
        size = max(size, splits[i] - starts[i], ends[i] - splits[i])
    space = space_for(size)
    for i in range(out.shape[0]):
        pre, after = values[starts[i] : splits[i]], values[splits[i] : ends[i]]
        pre_sums, after_sums = sums_of(pre), sums_of(after)
        if _is_large(pre_sums, after_sums):
            out[i, 0] = np.nan
            continue
        _fill_side(pre, pre_sums, space, out[i, :8])
        _fill_side(after, after_sums, space, out[i, 8:])
        out[i, 0], out[i, 1], out[i, 8], out[i, 9] = levels(pre, pre_sums, after, after_sums)


@kernel
def _is_large(pre_sums: Sums, after_sums: Sums) -> bool:
    """Return whether sums of a few of the values may overflow."""
    return max(-pre_sums.low, -after_sums.low, pre_sums.high, after_sums.high) > _LARGE


@kernel
def levels(
    pre: Floats, pre_sums: Sums, after: Floats, after_sums: Sums
) -> tuple[float, float, float, float]:
    """Return normalised mean and deviation of Pre and of After; NaN first where `rows` must."""
    low, high = min(pre_sums.low, after_sums.low), max(pre_sums.high, after_sums.high)
    if _is_large(pre_sums, after_sums) or is_doubtful(low, high):
        return np.nan, 0.0, 0.0, 0.0
    if low == high:
        before, since = raw(pre_sums), raw(after_sums)
    else:
        before = normalised(pre, pre_sums, low, high)
        since = normalised(after, after_sums, low, high)
    return before[0], before[1], since[0], since[1]


@kernel
def normalised(x: Floats, sums: Sums, low: float, high: float) -> tuple[float, float]:
    """Return mean and standard deviation of (x - low) / (high - low)."""
    span = high - low
    if span < TINY or span > HUGE:
        return _normalised_carefully(x, low, span)
    centre = ((sums.first - low) + sums.distance / sums.size) / span
    return centre, math.sqrt(variance(sums)) / span


@kernel
def _normalised_carefully(x: Floats, low: float, span: float) -> tuple[float, float]:
    """Divide before squaring, for spans whose square would overflow or vanish."""
    total = 0.0
    for value in x:
        total += (value - low) / span
    centre = total / x.size
    square = 0.0
    for value in x:
        square += ((value - low) / span - centre) ** 2
    return centre, math.sqrt(square / max(x.size - 1, 1))


@kernel
def is_doubtful(low: float, high: float) -> bool:
    """Return whether only printed digits show if a pair of sides counts as constant."""
    span = high - low
    return 0.0 < span <= SURELY_DIFFERENT * max(abs(low), abs(high))


def prints_alike(low: float, high: float) -> bool:
    """Return whether both extremes, and so all values, print the same 15 significant digits.

    The authors' code treats such a pair as constant and does not scale its values.
    """
    return f"{low:.15g}" == f"{high:.15g}"


@kernel
def raw(sums: Sums) -> tuple[float, float]:
    """Return mean and standard deviation of unscaled values."""
    return sums.first + sums.distance / sums.size, np.sqrt(variance(sums))


@kernel
def _fill_side(x: Floats, sums: Sums, space: Space, out: Floats) -> None:
    """Fill columns 2 to 7 of one side.

    Sides of one or two values are repeated to four, as in the authors' code. Their entropy is 1.
    """
    width = 10 if x.size > 10 else 2
    out[4] = 1.0
    if x.size > 2:
        out[4] = spectral_entropy(x, mean(sums), space)
    else:
        four = space.centred[:4]
        for t in range(4):
            four[t] = x[t % x.size]
        x, sums = four, sums_of(four)
    count = cut(x, sums.first, width, space.u, space.v)
    out[2], out[3] = lumpiness_and_stability(sums, space.u[:count], space.v[:count])
    out[5] = crossing_points(x)
    out[6] = max_level_shift(x, width, space.u)
    products = space.k[: LAGS + 1]
    lag_products(x, products, space.u)
    out[7] = serial_correlation(x, width, sums, products)


def differences(sides: Floats) -> Floats:
    """Return After minus Pre of every characteristic."""
    pre, after = np.split(sides, 2, axis=1)
    difference: Floats = after - pre
    return difference


def relative_changes(sides: Floats) -> Floats:
    """Return (After - Pre) / |Pre|, limited to -1000 to 1000; 0 where both are equal.

    Where only Pre is 0, the result is one of the limits.
    """
    pre, after = np.split(sides, 2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = (after - pre) / np.abs(pre)
    change: Floats = np.where(after == pre, 0.0, np.clip(ratio, -LIMIT, LIMIT))
    return change


FAMILY = Family(NAMES, rows)
_NINE_OF_BOTH = [(*NAMES, *hurst.NAMES).index(name) for name in NAMES_OF_NINE]
WITH_HURST = Derived(NAMES_OF_NINE, (FAMILY, hurst.FAMILY), lambda both: both[:, _NINE_OF_BOTH])
DIFFERENCES = Derived(tuple(f"difference_{name}" for name in EIGHT), (FAMILY,), differences)
CHANGES = Derived(tuple(f"change_{name}" for name in EIGHT), (FAMILY,), relative_changes)
