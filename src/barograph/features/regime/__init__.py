"""The newest points of a series compared with its current regime, habits and former levels."""

from barograph.features.regime.step import FAMILY, ONLINE, regime_length

__all__ = ["FAMILY", "ONLINE", "regime_length"]
