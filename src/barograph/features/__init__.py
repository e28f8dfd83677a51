"""Features of a change point: numbers that describe the series before and after it."""

from barograph.features.bauer import characteristics
from barograph.features.contrast import CONTEXT_NAMES, contrast_context, contrasts
from barograph.features.leznik import PUBLISHED_RANGES, deltas, distance
from barograph.features.matrix import (
    FEATURE_SETS,
    FEATURES_VERSION,
    feature_matrix,
    series_context,
)
from barograph.features.regime import regime_length
from barograph.features.subseries import (
    ADAPTIVE,
    LABEL_FREE,
    Policy,
    SubSeries,
    subseries,
)

__all__ = [
    "ADAPTIVE",
    "CONTEXT_NAMES",
    "FEATURES_VERSION",
    "FEATURE_SETS",
    "LABEL_FREE",
    "PUBLISHED_RANGES",
    "Policy",
    "SubSeries",
    "characteristics",
    "contrast_context",
    "contrasts",
    "deltas",
    "distance",
    "feature_matrix",
    "regime_length",
    "series_context",
    "subseries",
]
