"""Pelt and Dynp against the searches of ruptures that they stand for."""

import numpy as np
import pytest
import ruptures

from barograph.detection import Dynp, Pelt
from barograph.detection.least_squares import noise_level
from barograph.results.series import Floats


def series(seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    steps = np.repeat(generator.integers(-6, 7, size=5).astype(float), 16)
    noisy: Floats = generator.standard_normal(80) + steps
    return noisy


@pytest.mark.parametrize("seed", range(8))
def test_pelt_is_the_pelt_of_ruptures(seed: int) -> None:
    values = series(seed)
    places = [point.index for point in Pelt(penalty=3.0).detect(values)]
    price = 3.0 * np.log(values.size) * noise_level(values) ** 2
    peer = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(values).predict(pen=price)
    assert [*places, values.size] == peer


@pytest.mark.parametrize("seed", range(8))
def test_dynp_is_the_dynp_of_ruptures(seed: int) -> None:
    values = series(seed)
    places = [point.index for point in Dynp(changes=4).detect(values)]
    peer = ruptures.Dynp(model="l2", min_size=2, jump=1).fit(values).predict(n_bkps=4)
    assert [*places, values.size] == peer


def test_the_statistic_is_what_the_change_point_saves() -> None:
    values = series(1)
    noise = noise_level(values)
    points = Pelt().detect(values)
    edges = [0, *(point.index for point in points), values.size]
    for k, point in enumerate(points):
        a, b, c = edges[k : k + 3]
        apart = ((values[a:b] - values[a:b].mean()) ** 2).sum()
        apart += ((values[b:c] - values[b:c].mean()) ** 2).sum()
        joined = ((values[a:c] - values[a:c].mean()) ** 2).sum()
        assert point.statistic == pytest.approx((joined - apart) / noise**2)


def test_the_noise_of_a_quantised_series_is_not_zero() -> None:
    assert noise_level(np.repeat([1.0, 2.0, 1.0], 10)) > 0.0
    assert noise_level(np.full(9, 0.1)) == 0.0


def test_dynp_asks_for_no_more_than_fits() -> None:
    assert len(Dynp(changes=6).detect([1.0, 2.0, 5.0, 9.0, 1.0, 2.0])) == 2
