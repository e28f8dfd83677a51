"""The newest points of a series compared with its current regime, habits and former levels."""

from barograph.features.regime.family import FAMILY, regime_length
from barograph.features.regime.step import CONFIRM_NAMES, NAMES, ONLINE_NAMES

__all__ = ["CONFIRM_NAMES", "FAMILY", "NAMES", "ONLINE_NAMES", "regime_length"]
