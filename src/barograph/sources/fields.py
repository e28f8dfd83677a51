"""The check of fields under the name by which formats import it."""

from barograph.results.fields import (
    EPOCH,
    MILLISECOND,
    FieldError,
    identity_of,
    order_of,
    stated_direction,
    value_of,
    verdict_of,
)

__all__ = [
    "EPOCH",
    "MILLISECOND",
    "FieldError",
    "identity_of",
    "order_of",
    "stated_direction",
    "value_of",
    "verdict_of",
]
