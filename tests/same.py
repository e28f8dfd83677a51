"""Whether two histories are equal in every column."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from barograph.results.texts import Texts


def assert_same(left: Any, right: Any, name: str = "history") -> None:
    """Compare two histories, or two parts of them, field by field."""
    if isinstance(left, Texts):
        assert list(left) == list(right), name
    elif is_dataclass(left):
        assert type(left) is type(right), name
        for field in fields(left):
            first, other = getattr(left, field.name), getattr(right, field.name)
            assert_same(first, other, f"{name}.{field.name}")
    else:
        np.testing.assert_array_equal(left, right, name)
