"""Differences and relative changes of the characteristics: Bauer et al. 2022, footnote 2."""

import numpy as np

from barograph.features import bauer
from barograph.features.families import Derived
from barograph.series import Floats


def differences(sides: Floats) -> Floats:
    """Return After minus Pre of every characteristic."""
    pre, after = np.split(sides, 2, axis=1)
    difference: Floats = after - pre
    return difference


def relative_changes(sides: Floats) -> Floats:
    """Return (After - Pre) / |Pre|, held between -1000 and 1000; 0 where both are alike.

    A characteristic that Pre has none of can only have grown without measure: the limit stands.
    """
    pre, after = np.split(sides, 2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = (after - pre) / np.abs(pre)
    change: Floats = np.where(after == pre, 0.0, np.clip(ratio, -LIMIT, LIMIT))
    return change


LIMIT = 1000.0
DIFFERENCES = Derived(tuple(f"difference_{name}" for name in bauer.EIGHT), bauer.NAMES, differences)
CHANGES = Derived(tuple(f"change_{name}" for name in bauer.EIGHT), bauer.NAMES, relative_changes)
