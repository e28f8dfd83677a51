import numpy as np
import pytest

from barograph.results.series import Floats
from barograph.studies.detector_tables import ratio_interval


def ones(values: list[float]) -> Floats:
    return np.stack([values, np.ones(len(values))], axis=1)


def test_ratio_interval_of_a_mean_is_near_the_normal_interval() -> None:
    sample = np.random.default_rng(0).standard_normal(400)
    interval = ratio_interval(ones(list(sample)), np.arange(400), seed=1)
    assert interval.mean == pytest.approx(sample.mean())
    half = 1.96 * sample.std() / 20
    assert interval.low == pytest.approx(sample.mean() - half, abs=0.02)
    assert interval.high == pytest.approx(sample.mean() + half, abs=0.02)


def test_ratio_interval_draws_cases_of_one_series_together() -> None:
    values = [0.0] * 20 + [1.0] * 20
    apart = ratio_interval(ones(values), np.arange(40), seed=1)
    together = ratio_interval(ones(values), np.repeat([0, 1], 20), seed=1)
    assert (together.low, together.high) == (0.0, 1.0)
    assert apart.high - apart.low < 0.4


def test_ratio_interval_divides_the_sums() -> None:
    ratios = np.array([[1.0, 1.0], [0.0, 9.0]])
    assert ratio_interval(ratios, [0, 1], seed=0).mean == pytest.approx(0.1)


def test_ratio_interval_depends_on_the_seed() -> None:
    ratios = ones(list(np.random.default_rng(2).random(30)))
    assert ratio_interval(ratios, np.arange(30), 5) == ratio_interval(ratios, np.arange(30), 5)
    assert ratio_interval(ratios, np.arange(30), 5) != ratio_interval(ratios, np.arange(30), 6)


@pytest.mark.parametrize("ratios", [np.zeros((0, 2)), np.zeros((3, 2))])
def test_ratio_interval_without_denominator_is_nan(ratios: Floats) -> None:
    assert np.isnan(ratio_interval(ratios, np.arange(len(ratios)), seed=0)).all()
