"""Effect sizes of the step itself, on both sides of a candidate and in its whole series.

What one line each says of every number: docs/features-contrasts.md.
"""

from barograph.features.contrast.family import FAMILY, NAMES, contrasts
from barograph.features.contrast.surroundings import CONTEXT_NAMES, contrast_context

__all__ = ["CONTEXT_NAMES", "FAMILY", "NAMES", "contrast_context", "contrasts"]
