"""The table of feature sets, and of the families that compute their columns."""

from barograph.features import bauer, changes, eighteen, hurst
from barograph.features.families import Derived, Family

FAMILIES: tuple[Family, ...] = (bauer.FAMILY, hurst.FAMILY)
DERIVED: tuple[Derived, ...] = (changes.DIFFERENCES, changes.CHANGES)

FEATURE_SETS: dict[str, tuple[str, ...]] = {
    "bauer8": bauer.NAMES,
    "bauer9": eighteen.NAMES,
    "difference8": changes.DIFFERENCES.names,
    "change8": changes.CHANGES.names,
}
