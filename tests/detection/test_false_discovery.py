"""False discovery control: against statsmodels, and what it keeps."""

import numpy as np
import pytest

from barograph.detection import Hunter, control_discoveries, detect_many
from barograph.detection.numerics import largest_kept
from barograph.results.series import ChangePoint, Region
from barograph.runtime.errors import ConfigError

REGION = Region.of(np.ones(3))


def point(pvalue: float | None) -> ChangePoint:
    return ChangePoint(3, 1.0, pvalue, REGION, REGION)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rate", [0.01, 0.2])
def test_it_is_statsmodels(seed: int, rate: float) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    pvalues = np.random.default_rng(seed).uniform(0, 1, 60) ** 4
    expected = multitest.fdrcorrection(pvalues, alpha=rate)[0]
    np.testing.assert_array_equal(pvalues <= largest_kept(pvalues, rate, 60), expected)


def test_points_above_the_limit_are_removed() -> None:
    runs = [[point(0.001), point(0.04)], [], [point(None)], [point(0.5)]]
    assert control_discoveries(runs, tests=7) == [[runs[0][0]], [], runs[2], []]


def test_more_tests_make_it_harder() -> None:
    runs = [[point(0.001)]]
    assert control_discoveries(runs, tests=50) == runs
    assert control_discoveries(runs, tests=51) == [[]]


def test_without_p_values_nothing_is_removed() -> None:
    runs = [[point(None)], []]
    assert control_discoveries(runs, tests=0) == runs


def test_false_alarms_of_stable_series_mostly_go_and_clear_steps_stay() -> None:
    random = np.random.default_rng(5)
    series = random.normal(100, 1, (200, 60))
    series[:10, 30:] += 6
    points_by_series = detect_many(Hunter(pvalue=0.01), series.ravel(), np.arange(201) * 60)
    kept = control_discoveries(points_by_series, tests=series.size)
    assert all(any(p.index == 30 for p in points) for points in kept[:10])
    assert sum(map(len, kept[10:])) < sum(map(len, points_by_series[10:])) / 4


@pytest.mark.parametrize(("rate", "tests"), [(0.0, 9), (1.0, 9), (0.05, 0)])
def test_parameters_are_checked(rate: float, tests: int) -> None:
    with pytest.raises(ConfigError, match="it must be"):
        control_discoveries([[point(0.001)]], rate=rate, tests=tests)
