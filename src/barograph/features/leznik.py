"""The differences of five features between Pre and After, and the distance that they add up to.

Leznik et al. 2022: section 2.1 and Table 1 (the deltas), section 2.2 and equation 1 (the distance,
"zoomed ranking"). `leznik_sides` has the features of each side; After counts with two points.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from barograph.features import leznik_sides
from barograph.features.families import Derived, numbers_of
from barograph.results.series import Floats

NAMES = tuple(f"delta_{feature}" for feature in leznik_sides.FEATURES)
SOURCES = leznik_sides.NAMES

# The authors' ranges: a normalised mean is in [0, 1], two normalised values have a standard
# deviation of at most 1 / sqrt(2), and the Hurst exponents cover the whole interval of their
# search.
PUBLISHED_RANGES: Mapping[str, float] = {
    "delta_mean": 1.0,
    "delta_sd": 0.7071067811865476,
    "delta_hurst": 0.499904545815897,
    "delta_alpha": 1.0,
    "delta_beta": 1.0,
}


def deltas(pre: npt.ArrayLike, after: npt.ArrayLike) -> dict[str, float]:
    """Return the absolute differences of the five features between both sides.

    Args:
        pre: The values before the candidate, at least one.
        after: The values from the candidate on, at least one. Only the first two count.

    Raises:
        ValueError: A side is empty, not one-dimensional, or holds something that is not a finite
            number; the message names the side, the index and the value.
    """
    numbers = numbers_of(pre, after, leznik_sides.FAMILY)
    sources = np.array([[numbers[name] for name in SOURCES]])
    return dict(zip(NAMES, differences(sources)[0].tolist(), strict=True))


def distance(deltas: Mapping[str, float], ranges: Mapping[str, float] = PUBLISHED_RANGES) -> float:
    """Return the sum of the deltas, each divided by the range of its feature.

    Raises:
        ValueError: One of the five is missing, a delta is not finite, or a range is negative or
            not finite; a feature whose range is 0 adds nothing.
    """
    row = np.array([[_entry(deltas, name, "deltas") for name in NAMES]])
    return float(distances(row, ranges)[0])


def distances(rows: Floats, ranges: Mapping[str, float] = PUBLISHED_RANGES) -> Floats:
    """Return the distance of each row of the five deltas."""
    total = np.zeros(rows.shape[0])
    for column, name in enumerate(NAMES):
        width = _entry(ranges, name, "ranges")
        if width < 0.0:
            raise ValueError(f"ranges[{name!r}] is {width}; it must be 0 or more")
        # A feature that never varied in training does not distinguish anything.
        total += rows[:, column] / width if width > 0.0 else 0.0
    return total


def ranges_of(matrix: Floats) -> dict[str, float]:
    """Return the range of each feature over all sub-series.

    Args:
        matrix: One row per candidate, with the columns SOURCES.
    """
    if matrix.ndim != 2 or matrix.shape[1] != len(SOURCES) or not matrix.shape[0]:
        raise ValueError(
            f"the matrix has the shape {matrix.shape}; it must have a row or more, and the "
            f"{len(SOURCES)} columns {', '.join(SOURCES)}"
        )
    both = np.concatenate(np.split(matrix, 2, axis=1))
    return dict(zip(NAMES, np.ptp(both, axis=0).tolist(), strict=True))


def differences(sources: Floats) -> Floats:
    """Return the five deltas of each row of SOURCES."""
    pre, after = np.split(sources, 2, axis=1)
    rows: Floats = np.abs(after - pre)
    return rows


def with_distance(sources: Floats, ranges: Mapping[str, float] = PUBLISHED_RANGES) -> Floats:
    """Return the five deltas and the distance of each row of SOURCES."""
    rows = differences(sources)
    return np.column_stack([rows, distances(rows, ranges)])


def _entry(table: Mapping[str, float], name: str, what: str) -> float:
    if name not in table:
        raise ValueError(f"{what} has no {name!r}; it must have {', '.join(NAMES)}")
    if not np.isfinite(table[name]):
        raise ValueError(f"{what}[{name!r}] is {table[name]}; it must be finite")
    return float(table[name])


DELTAS = Derived((*NAMES, "distance"), (leznik_sides.FAMILY,), with_distance)
