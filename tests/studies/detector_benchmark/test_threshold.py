import numpy as np
import pytest

from barograph.results.series import Floats
from barograph.studies.detector_cases import Threshold, week_ago

DAY = 24 * 3600.0
NAN = float("nan")


def indices(values: list[float], **known: list[float]) -> list[int]:
    arrays = {name: np.array(numbers) for name, numbers in known.items()}
    return [point.index for point in Threshold().set_params(**arrays).detect(values)]


def test_the_previous_run_sees_a_jump_once() -> None:
    (point,) = Threshold().detect([100.0, 105.0, 120.0, 121.0, 119.0])
    assert point.index == 2
    assert point.statistic == pytest.approx(100 * 15 / 105)
    assert point.pvalue is None


def test_exactly_the_threshold_is_no_alarm() -> None:
    assert indices([100.0, 110.0]) == []


def test_a_week_ago_sees_what_crept_up() -> None:
    values = [100.0 * 1.02**day for day in range(20)]
    assert indices(values) == []
    assert indices(values, times=[DAY * day for day in range(20)]) == [7]


def test_no_run_of_a_week_ago_skips_the_comparison() -> None:
    times = np.array([0.0, DAY, 30 * DAY, 31 * DAY])
    assert np.isnan(week_ago(np.array([100.0, 100.0, 109.0, 118.0]), times)).all()


def plain_week_ago(values: Floats, times: Floats) -> list[float]:
    """The newest run that is one to two weeks old, by looking at all of them."""
    result = []
    for t, now in enumerate(times):
        old = [j for j in range(t) if 7 * DAY <= now - times[j] <= 14 * DAY]
        result.append(values[old[-1]] if old else NAN)
    return result


def test_the_reference_of_a_week_ago_is_the_newest_such_run() -> None:
    generator = np.random.default_rng(3)
    for _ in range(50):
        times: Floats = DAY * np.cumsum(generator.exponential(2.0, 40))
        values = generator.standard_normal(40)
        np.testing.assert_array_equal(week_ago(values, times), plain_week_ago(values, times))


def test_no_percentage_of_zero() -> None:
    assert indices([0.0, 5.0, 5.0]) == []


def test_a_negative_reference_counts_by_its_magnitude() -> None:
    (point,) = Threshold().detect([-100.0, -80.0])
    assert point.statistic == pytest.approx(20.0)


def test_a_huge_ratio_stays_a_number() -> None:
    (point,) = Threshold().detect([1e-300, 1e100])
    assert point.statistic == np.finfo(np.float64).max
