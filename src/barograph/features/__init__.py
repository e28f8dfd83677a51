"""What describes a change point: the stretches before and after it, as numbers."""

from barograph.features.eighteen import characteristics
from barograph.features.growing import GrowingPre
from barograph.features.matrix import feature_matrix
from barograph.features.sets import FEATURE_SETS
from barograph.features.subseries import (
    ADAPTIVE,
    LABEL_FREE,
    Candidates,
    Policy,
    SubSeries,
    subseries,
)

__all__ = [
    "ADAPTIVE",
    "FEATURE_SETS",
    "LABEL_FREE",
    "Candidates",
    "GrowingPre",
    "Policy",
    "SubSeries",
    "characteristics",
    "feature_matrix",
    "subseries",
]
