"""The table of feature sets, and of the families that compute their columns."""

from barograph.features import bauer, changes, contrast, eighteen, holt, hurst, leznik, regime
from barograph.features.families import Derived, Family

# Raised whenever a feature's numbers change: tables and models of different versions do not mix.
FEATURES_VERSION = "1"

FAMILIES: tuple[Family, ...] = (
    bauer.FAMILY,
    hurst.FAMILY,
    holt.FAMILY,
    contrast.FAMILY,
    regime.FAMILY,
)
DERIVED: tuple[Derived, ...] = (changes.DIFFERENCES, changes.CHANGES, leznik.DELTAS)

FEATURE_SETS: dict[str, tuple[str, ...]] = {
    "bauer8": bauer.NAMES,
    "bauer9": eighteen.NAMES,
    "leznik": leznik.DELTAS.names,
    "contrast": contrast.NAMES,
    "full": (*eighteen.NAMES, *leznik.DELTAS.names, *contrast.NAMES),
    "difference8": changes.DIFFERENCES.names,
    "change8": changes.CHANGES.names,
    "online": regime.ONLINE_NAMES,
    "confirm": regime.NAMES,
}
