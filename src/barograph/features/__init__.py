"""Features of a change point: numbers that describe the series before and after it.

The modules of formulas are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from barograph.features.families import (
    FEATURE_SETS,
    FEATURES_VERSION,
    feature_matrix,
    series_context,
)

if TYPE_CHECKING:
    from barograph.features.bauer import characteristics
    from barograph.features.contrast import CONTEXT_NAMES, contrast_context, contrasts
    from barograph.features.leznik import PUBLISHED_RANGES, deltas, distance
    from barograph.features.regime import regime_length
else:  # with it, type checkers would accept any name

    def __getattr__(name: str) -> object:
        """Import the module of a formula when it is first used."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


__all__ = [
    "CONTEXT_NAMES",
    "FEATURES_VERSION",
    "FEATURE_SETS",
    "PUBLISHED_RANGES",
    "characteristics",
    "contrast_context",
    "contrasts",
    "deltas",
    "distance",
    "feature_matrix",
    "regime_length",
    "series_context",
]

_MODULES = {
    "CONTEXT_NAMES": "contrast",
    "PUBLISHED_RANGES": "leznik",
    "characteristics": "bauer",
    "contrast_context": "contrast",
    "contrasts": "contrast",
    "deltas": "leznik",
    "distance": "leznik",
    "regime_length": "regime",
}
