"""Tail rates, the shared budget, and what one platform adds to them."""

import numpy as np
import pytest

from barograph.detection.online import Budget, PlatformRates, TailRates
from barograph.detection.online.budget import between
from barograph.detection.online.platform import ENOUGH
from barograph.errors import ConfigError, DataError, NotEnoughDataError
from tests.detection.edge_scorer import EdgeScorer

SCORES = np.random.default_rng(0).beta(1, 30, 50_000)


def test_surprise_is_the_log_of_the_share_that_scores_as_high() -> None:
    tails = TailRates.of(SCORES)
    for p in (0.01, 0.05, 0.1, 0.2):
        assert tails.surprise(p) == pytest.approx(-np.log(np.mean(p <= SCORES)), abs=0.1)


def test_surprise_rises_and_keeps_the_order_beyond_all_scores() -> None:
    p = np.linspace(0.0, 1.0, 2001)
    surprise = TailRates.of(SCORES).surprise(p)
    assert (np.diff(surprise) >= 0).all()
    assert (np.diff(surprise[p > SCORES.max()]) > 0).all()


def test_a_card_gives_back_what_it_was_given() -> None:
    tails = TailRates.of(SCORES)
    card = {"tails": {"2": tails.to_card(), "5": tails.to_card()}}
    again = TailRates.from_card(card, 4)
    assert again.surprise(SCORES[:100]).tolist() == tails.surprise(SCORES[:100]).tolist()
    with pytest.raises(DataError, match="window 1"):
        TailRates.from_card(card, 1)


def test_few_points_have_no_tail() -> None:
    with pytest.raises(NotEnoughDataError, match="150 quiet points"):
        TailRates.of(SCORES[:150])


def released() -> tuple[EdgeScorer, EdgeScorer]:
    tails = TailRates.of(SCORES).to_card()
    thresholds = {"1": 7.0, "3": 6.0, "10": 4.8}
    first = EdgeScorer(card={"tails": {"0": tails}})
    second = EdgeScorer(
        "confirm",
        card={
            "tails": {"1": tails},
            "alarm_thresholds": {"steady": thresholds, "sure": thresholds},
        },
    )
    return first, second


def test_the_threshold_comes_from_the_card_for_setting_and_rate() -> None:
    first, second = released()
    assert Budget.released(first, second).threshold == 6.0
    assert Budget.released(first, second, "sure", 10).threshold == pytest.approx(4.8)
    assert Budget.released(first, second, "sure").weights == {2: 1.0, 5: 1.0}
    with pytest.raises(DataError, match="'early'"):
        Budget.released(first, second, "early")
    with pytest.raises(ConfigError, match="allowed are early, even, steady, sure"):
        Budget.released(first, second, "late")
    with pytest.raises(ConfigError, match=r"1\.0 to 10\.0"):
        Budget.released(first, second, "steady", 0.5)


def test_rates_between_the_released_ones_lie_between_their_thresholds() -> None:
    assert between({"1": 7.0, "3": 6.0, "10": 5.0}, 3**0.5) == pytest.approx(6.5)


def test_a_platform_counts_once_it_has_enough_points() -> None:
    rates = PlatformRates()
    for _ in range(ENOUGH - 1):
        rates.observe(0, 1.0)
    assert rates.surprise(0, 3.3) == 3.3
    rates.observe(0, 1.0)
    assert rates.surprise(0, 3.3) > 3.3
    assert rates.surprise(2, 3.3) == 3.3


@pytest.mark.parametrize("factor", [0.25, 1.0, 4.0])
def test_a_platform_learns_its_own_rate(factor: float) -> None:
    rng, rates = np.random.default_rng(1), PlatformRates()
    # A tail `factor` times as heavy from 3 nats on.
    released = rng.exponential(size=200_000)
    heavy = released > 3.0 - np.log(factor)
    nominal = np.where(heavy, released + np.log(factor), np.minimum(released, 2.99))
    for one in nominal:
        rates.observe(0, float(one))
    for x in (3.5, 5.0, 7.0):
        assert rates.surprise(0, x) == pytest.approx(x - np.log(factor), abs=0.35)
    surprises = [rates.surprise(0, x) for x in np.linspace(0, 20, 400)]
    assert (np.diff(surprises) >= 0).all()
