"""The lagged products of a side at once, and as it grows."""

import numpy as np
import pytest

from barograph.features.entropy import space_for
from barograph.features.serial import LAGS, add_lags, lag_products


@pytest.mark.parametrize("size", [*range(3, 24), 100, 499])
def test_products_are_those_of_a_side_that_grew_to_the_bit(size: int) -> None:
    x = np.random.default_rng(size).normal(1e6, 1.0, size)
    grown = np.zeros(LAGS + 1)
    for t in range(size):
        add_lags(x, t, grown)
    products = np.full(LAGS + 1, np.nan)
    lag_products(x, products, np.full(size + LAGS, np.nan))
    assert products.tobytes() == grown.tobytes()
    d = x - x[0]
    plainly = [d[k:] @ d[: size - k] if k < size else 0.0 for k in range(LAGS + 1)]
    assert products == pytest.approx(plainly, rel=1e-12, abs=1e-9)


def test_there_is_space_for_all_lags_of_a_side_of_one_value() -> None:
    assert space_for(1).u.size >= 4 + LAGS  # one value is repeated to four
