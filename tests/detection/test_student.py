"""Student's t against SciPy and against closed forms."""

import math

import numpy as np
import pytest
from scipy import stats

from barograph.detection.student import significant, two_sided


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 10, 31, 48, 63, 64, 65, 98, 250, 498, 1000])
def test_the_tail_is_scipys(freedom: int) -> None:
    t = np.concatenate([np.geomspace(0.01, 1e6, 120), np.linspace(0.1, 12, 60)])
    expected = 2 * stats.t.sf(t, freedom)
    t, expected = t[expected > 1e-290], expected[expected > 1e-290]
    computed = [two_sided(x, float(freedom)) for x in t]
    np.testing.assert_allclose(computed, expected, rtol=1e-12)


@pytest.mark.parametrize("t", [1e-8, 1e-3, 0.5, 1.0, 40.0])
def test_one_degree_of_freedom_is_cauchys(t: float) -> None:
    expected = 2 / math.pi * math.atan2(1, t)
    assert two_sided(t, 1.0) == pytest.approx(expected, rel=1e-14)
    assert two_sided(-t, 1.0) == two_sided(t, 1.0)


def test_the_ends() -> None:
    assert two_sided(0.0, 5.0) == 1.0
    assert two_sided(math.inf, 5.0) == 0.0
    assert math.isnan(two_sided(math.nan, 5.0))


@pytest.mark.parametrize("freedom", [1.0, 3.0, 48.0, 1000.0])
@pytest.mark.parametrize("pvalue", [1e-6, 0.01, 0.3])
def test_what_is_significant_is_what_the_tail_says(freedom: float, pvalue: float) -> None:
    for t in np.linspace(-8, 8, 401):
        assert significant(t, freedom, pvalue) == (two_sided(t, freedom) <= pvalue)
    assert not significant(math.nan, freedom, pvalue)
