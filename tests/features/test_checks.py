"""Errors for bad input name the side, the index and the value."""

import re

import numpy as np
import numpy.typing as npt
import pytest

from barograph.features import families


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "pre is empty"),
        ([1.0, np.nan], "pre[1] is nan"),
        ([1.0, 2.0, -np.inf], "pre[2] is -inf"),
        ([[1.0], [2.0]], "pre must be one-dimensional, but has the shape (2, 1)"),
        (3.0, "pre is 3.0; it must be a list or an array of numbers"),
        ([1.0, "two"], "pre[1] is 'two'"),
        (["1", "2"], "pre[0] is '1'"),
        ([1.0, None], "pre[1] is nan"),
        ([1.0, {}], "pre[1] is {}"),
        ([1.0, 2j], "pre[0] is (1+0j)"),
        ([[1.0], [2.0, 3.0]], "pre must be one-dimensional"),
    ],
)
def test_error_names_the_side_the_index_and_the_value(values: npt.ArrayLike, message: str) -> None:
    if message.startswith("pre[1] is 'two'"):
        values = np.array(values, dtype=object)
    with pytest.raises(ValueError, match=re.escape(message)):
        families.side(values, "pre")


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, np.bool_, object])
def test_side_converts_any_numeric_type(dtype: npt.DTypeLike) -> None:
    result = families.side(np.array([0, 1], dtype=dtype), "pre")
    assert result.dtype == np.float64
    assert result.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("starts", "splits", "ends", "message"),
    [
        ([0], [1, 2], [3], "equally long, but have 1, 2 and 1"),
        ([0, 2], [1, 2], [3, 3], "candidate 1 has start 2, split 2, end 3"),
        ([0], [3], [3], "candidate 0 has start 0, split 3, end 3"),
        ([-1], [1], [2], "candidate 0 has start -1"),
        ([0], [1], [9], "0 <= start < split < end <= 8"),
        ([0.0], [1], [2], "starts must be one-dimensional integers, not float64"),
        ([[0]], [1], [2], "starts must be one-dimensional integers"),
    ],
)
def test_bad_bounds_are_refused(
    starts: npt.ArrayLike, splits: npt.ArrayLike, ends: npt.ArrayLike, message: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        families.bounds(starts, splits, ends, 8)
