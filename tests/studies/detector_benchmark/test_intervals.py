import numpy as np
import pytest

from barograph.series import Floats
from barograph.studies.detector_benchmark.intervals import ratio_interval


def ones(values: list[float]) -> Floats:
    return np.stack([values, np.ones(len(values))], axis=1)


def test_the_interval_of_a_mean_is_near_the_normal_one() -> None:
    sample = np.random.default_rng(0).standard_normal(400)
    found = ratio_interval(ones(list(sample)), np.arange(400), seed=1)
    assert found.mean == pytest.approx(sample.mean())
    half = 1.96 * sample.std() / 20
    assert found.low == pytest.approx(sample.mean() - half, abs=0.02)
    assert found.high == pytest.approx(sample.mean() + half, abs=0.02)


def test_cases_of_one_series_are_drawn_together() -> None:
    values = [0.0] * 20 + [1.0] * 20
    apart = ratio_interval(ones(values), np.arange(40), seed=1)
    together = ratio_interval(ones(values), np.repeat([0, 1], 20), seed=1)
    assert (together.low, together.high) == (0.0, 1.0)
    assert apart.high - apart.low < 0.4


def test_a_ratio_is_of_the_sums() -> None:
    pairs = np.array([[1.0, 1.0], [0.0, 9.0]])
    assert ratio_interval(pairs, [0, 1], seed=0).mean == pytest.approx(0.1)


def test_the_same_seed_gives_the_same_interval() -> None:
    pairs = ones(list(np.random.default_rng(2).random(30)))
    assert ratio_interval(pairs, np.arange(30), 5) == ratio_interval(pairs, np.arange(30), 5)
    assert ratio_interval(pairs, np.arange(30), 5) != ratio_interval(pairs, np.arange(30), 6)


def test_cases_without_an_answer_do_not_count() -> None:
    pairs = np.array([[1.0, 1.0], [np.nan, np.nan]])
    assert ratio_interval(pairs, [0, 1], seed=0) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("pairs", [np.full((3, 2), np.nan), np.zeros((3, 2))])
def test_nothing_to_divide_by_is_no_number(pairs: Floats) -> None:
    assert np.isnan(ratio_interval(pairs, np.arange(3), seed=0)).all()
