"""Crossing points, compared with the plain formula."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.features.lumpiness import crossing_points
from barograph.results.series import Floats
from tests.features import plain

SHAPES: dict[str, Callable[[int, np.random.Generator], Floats]] = {
    "noise": lambda n, rng: rng.normal(size=n),
    "ties": lambda n, rng: rng.integers(0, 3, n).astype(float),
    "rising": lambda n, _: np.arange(n, dtype=float),
    "falling": lambda n, _: -np.arange(n, dtype=float),
    "constant": lambda n, _: np.full(n, 2.5),
    "a peak": lambda n, _: -np.abs(np.arange(n) - n / 2),
    "a saw": lambda n, _: np.arange(n, dtype=float) % 9,
    "an outlier": lambda n, rng: np.where(np.arange(n) == n // 3, 1e300, rng.normal(size=n)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [3, 15, 16, 17, 18, 33, 34, 99, 100, 499, 500, 3001])
def test_crossing_points_are_those_of_the_sorted_side(shape: str, size: int) -> None:
    x = np.asarray(SHAPES[shape](size, np.random.default_rng(size)), dtype=np.float64)
    before = x.copy()
    assert crossing_points(x) == plain.crossing_points(x)
    assert np.array_equal(x, before)


@given(st.lists(st.floats(-1e300, 1e300) | st.integers(0, 3), min_size=3))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_crossing_points_of_arbitrary_values(values: list[float]) -> None:
    x = np.array(values, dtype=np.float64)
    assert crossing_points(x) == plain.crossing_points(x)
