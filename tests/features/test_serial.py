"""The lagged products of a side."""

import numpy as np
import pytest

from barograph.features.entropy import space_for
from barograph.features.serial import LAGS, lag_products


@pytest.mark.parametrize("size", [*range(3, 24), 100, 499])
def test_lag_products_sum_from_left_to_right_to_the_bit(size: int) -> None:
    x = np.random.default_rng(size).normal(1e6, 1.0, size)
    d = x - x[0]
    expected = np.zeros(LAGS + 1)
    for t in range(size):
        for k in range(min(t, LAGS) + 1):
            expected[k] += d[t] * d[t - k]
    products = np.full(LAGS + 1, np.nan)
    lag_products(x, products, np.full(size + LAGS, np.nan))
    assert products.tobytes() == expected.tobytes()
    dot_products = [d[k:] @ d[: size - k] if k < size else 0.0 for k in range(LAGS + 1)]
    assert products == pytest.approx(dot_products, rel=1e-12, abs=1e-9)


def test_work_space_holds_all_lags_of_a_side_of_one_value() -> None:
    assert space_for(1).u.size >= 4 + LAGS  # one value is repeated to four
