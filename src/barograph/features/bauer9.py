"""The eighteen characteristics of Bauer et al. 2022 for one pair of sides."""

import numpy.typing as npt

from barograph.features import bauer, hurst
from barograph.features.families import numbers_of

_NINE = (*bauer.EIGHT[:-1], "hurst", bauer.EIGHT[-1])
NAMES = tuple(f"{where}_{name}" for where in ("pre", "after") for name in _NINE)


def characteristics(pre: npt.ArrayLike, after: npt.ArrayLike) -> dict[str, float]:
    """Return nine characteristics of each side of a candidate, in the authors' order.

    Args:
        pre: The values before the candidate, at least one.
        after: The values from the candidate on, at least one.

    Raises:
        ValueError: A side is empty, not one-dimensional, or holds something that is not a finite
            number; the message names the side, the index and the value.
    """
    numbers = numbers_of(pre, after, bauer.FAMILY, hurst.FAMILY)
    return {name: numbers[name] for name in NAMES}
