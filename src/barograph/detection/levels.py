"""Whether two places near each other are two changes: if the level between them is its own."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from barograph.results.repeats import MAD_TO_SD
from barograph.results.series import Floats

SHORTEST_LEVEL = 3  # results between two places that can have a level of their own
BESIDE = 10  # results beside two places that are compared with those between
APART = 6.0  # noise units between two levels that differ
LEAST_NOISE = 0.002  # share of the level: series that repeat a value have no noise


def is_own_level(before: Sequence[float], between: Sequence[float], after: Sequence[float]) -> bool:
    """Return whether the level between two places differs from the levels on both sides.

    Args:
        before: Results before the first place.
        between: Results from the first place to the second.
        after: Results from the second place on.

    Example:
        >>> is_own_level([10.0, 10.1, 9.9], [14.0, 14.1, 14.2], [19.0, 19.2])
        True
        >>> is_own_level([10.0, 10.1, 9.9], [18.9, 19.1, 19.0], [19.0, 19.2])
        False
    """
    if not before or not between or not after:
        return False
    sides = before, between, after
    low, middle, high = levels = [median(side) for side in sides]
    distances = [
        abs(value - level) for side, level in zip(sides, levels, strict=True) for value in side
    ]
    noise = max(MAD_TO_SD * median(distances), LEAST_NOISE * abs(middle))
    spread = max(between) - min(between)  # a level that is still being reached is no level
    do_overlap = min(after) <= max(between) if high > middle else max(after) >= min(between)
    smaller = min(abs(middle - low), abs(high - middle))
    return not do_overlap and smaller > max(APART * noise, spread)


def are_two(values: Floats, first: int, second: int) -> bool:
    """Return whether two places of a series are two changes, by the results around them.

    Args:
        values: The series.
        first: The first result of a level.
        second: The first result of a later one.
    """
    first, second = min(first, second), max(first, second)
    if second - first < SHORTEST_LEVEL:
        return False
    before, after = values[max(first - BESIDE, 0) : first], values[second : second + BESIDE]
    return is_own_level(before.tolist(), values[first:second].tolist(), after.tolist())
