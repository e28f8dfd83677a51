"""Hunter: E-Divisive in windows, with Student's t-test (Fleming et al. 2023, Apache Otava)."""

from barograph.detection.hunter.detector import Hunter

__all__ = ["Hunter"]
