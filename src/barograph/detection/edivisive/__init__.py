"""E-Divisive means (Matteson and James 2014; Daly et al. 2020)."""

from barograph.detection.edivisive.detector import EDivisive
from barograph.detection.edivisive.energy import energy_statistic

__all__ = ["EDivisive", "energy_statistic"]
