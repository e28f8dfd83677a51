"""Compiled sums and regions against NumPy, to the bit."""

import numpy as np
import pytest

from barograph.detection.regions import regions
from barograph.detection.sums import mean_and_squares, pairwise_sum
from barograph.series import Region

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 15, 16, 127, 128, 129, 255, 264, 1000, 4099])
def test_a_sum_is_numpys_to_the_bit(size: int) -> None:
    values = RANDOM.normal(1e6, 1e3, size)
    assert pairwise_sum(values, 0, size) == values.sum()


def test_a_constant_deviates_by_nothing_from_a_pivot_of_its_own() -> None:
    values = np.full(49, 0.1)
    assert mean_and_squares(values, 0, 49, 0.1, np.empty(49)) == (0.1, 0.0)


@pytest.mark.parametrize("sizes", [(1,), (2, 1), (3, 10, 130), (300, 7, 1, 2)])
def test_regions_are_those_of_the_domain_to_the_bit(sizes: tuple[int, ...]) -> None:
    values = RANDOM.normal(50, 3, sum(sizes))
    edges = np.cumsum(sizes)[:-1].tolist()
    assert regions(values, edges) == [Region.of(part) for part in np.split(values, edges)]
