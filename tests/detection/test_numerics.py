"""Student's t against SciPy and closed forms; compiled sums and regions against NumPy."""

import math

import numpy as np
import pytest
from scipy import stats

from barograph.detection.base import RawChangePoint, describe
from barograph.detection.numerics import (
    largest_kept,
    mean_and_squares,
    pairwise_sum,
    significant,
    two_sided,
)
from barograph.results.series import Region
from barograph.results.sizes import size_of

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 10, 31, 48, 63, 64, 65, 98, 250, 498, 1000])
def test_two_sided_equals_scipy(freedom: int) -> None:
    t = np.concatenate([np.geomspace(0.01, 1e6, 120), np.linspace(0.1, 12, 60)])
    expected = 2 * stats.t.sf(t, freedom)
    t, expected = t[expected > 1e-290], expected[expected > 1e-290]
    computed = [two_sided(x, float(freedom)) for x in t]
    np.testing.assert_allclose(computed, expected, rtol=1e-12)


@pytest.mark.parametrize("t", [1e-8, 1e-3, 0.5, 1.0, 40.0])
def test_two_sided_with_one_degree_of_freedom_equals_cauchy(t: float) -> None:
    expected = 2 / math.pi * math.atan2(1, t)
    assert two_sided(t, 1.0) == pytest.approx(expected, rel=1e-14)
    assert two_sided(-t, 1.0) == two_sided(t, 1.0)


def test_two_sided_at_zero_infinity_and_nan() -> None:
    assert two_sided(0.0, 5.0) == 1.0
    assert two_sided(math.inf, 5.0) == 0.0
    assert math.isnan(two_sided(math.nan, 5.0))


@pytest.mark.parametrize("freedom", [1.0, 3.0, 48.0, 1000.0])
@pytest.mark.parametrize("pvalue", [1e-6, 0.01, 0.3])
def test_significant_agrees_with_two_sided(freedom: float, pvalue: float) -> None:
    for t in np.linspace(-8, 8, 401):
        assert significant(t, freedom, pvalue) == (two_sided(t, freedom) <= pvalue)
    assert not significant(math.nan, freedom, pvalue)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 15, 16, 127, 128, 129, 255, 264, 1000, 4099])
def test_pairwise_sum_equals_numpy_to_the_bit(size: int) -> None:
    values = RANDOM.normal(1e6, 1e3, size)
    assert pairwise_sum(values, 0, size) == values.sum()


def test_constant_stretch_has_no_deviation_from_its_own_value() -> None:
    values = np.full(49, 0.1)
    assert mean_and_squares(values, 0, 49, 0.1, np.empty(49)) == (0.1, 0.0)


@pytest.mark.parametrize("sizes", [(2, 1), (3, 10, 130), (300, 7, 1, 2)])
def test_regions_equal_region_of_to_the_bit(sizes: tuple[int, ...]) -> None:
    values = RANDOM.normal(50, 3, sum(sizes))
    edges = np.cumsum(sizes)[:-1].tolist()
    points = describe(values, [RawChangePoint(k, 0.0) for k in edges])
    parts = np.split(values, edges)
    for point, before, after in zip(points, parts[:-1], parts[1:], strict=True):
        size = size_of(before, after)
        assert point.before == Region.of(before, size.before)
        assert point.after == Region.of(after, size.after)
        assert point.is_trend == size.is_trend


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rate", [0.01, 0.2])
def test_control_of_false_discoveries_is_that_of_statsmodels(seed: int, rate: float) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    pvalues = np.random.default_rng(seed).uniform(0, 1, 60) ** 4
    expected = multitest.fdrcorrection(pvalues, alpha=rate)[0]
    np.testing.assert_array_equal(pvalues <= largest_kept(pvalues, rate, 60), expected)
