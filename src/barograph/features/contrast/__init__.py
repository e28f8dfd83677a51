"""Effect sizes of the step at a candidate, from both of its sides and from its whole series.

docs/features-contrasts.md describes every column.
"""

from barograph.features.contrast.family import (
    CONTEXT_NAMES,
    FAMILY,
    NAMES,
    contrast_context,
    contrasts,
)

__all__ = ["CONTEXT_NAMES", "FAMILY", "NAMES", "contrast_context", "contrasts"]
