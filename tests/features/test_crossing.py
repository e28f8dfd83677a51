"""The two middle values of a side, compared with sorting it."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.features.crossing import crossing_points, middle_values, pivot_of
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


def check(x: Floats) -> None:
    ordered = np.sort(x)
    low, high = middle_values(x, np.empty(x.size + 3))
    assert high == ordered[x.size // 2]
    assert low == (ordered[x.size // 2 - 1] if x.size > 1 else -np.inf)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1, 2, 3, 15, 16, 17, 18, 33, 34, 99, 100, 499, 500, 3001])
def test_middle_values_are_those_of_the_sorted_side(shape: str, size: int) -> None:
    x = np.asarray(SHAPES[shape](size, np.random.default_rng(size)), dtype=np.float64)
    before = x.copy()
    check(x)
    if size > 2:  # fewer are repeated first
        assert crossing_points(x, np.empty(size)) == plain.crossing_points(x)
    assert np.array_equal(x, before)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 3), min_size=17))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_middle_values_of_arbitrary_values(values: list[float]) -> None:
    check(np.array(values, dtype=np.float64))


@pytest.mark.parametrize("size", [100, 499, 500, 3001])
@pytest.mark.parametrize("teeth", range(1, 31))
def test_pivot_is_central_for_every_period(size: int, teeth: int) -> None:
    x = np.arange(size, dtype=np.float64) % (size // teeth)
    below, upto = (x < pivot_of(x)).mean(), (x <= pivot_of(x)).mean()
    assert below < 0.9
    assert upto > 0.1
