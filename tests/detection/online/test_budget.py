"""Tail rates and the budget that the windows share."""

import re
from dataclasses import replace

import numpy as np
import pytest

from barograph.detection.online import Budget, TailRates
from barograph.detection.online.budget import threshold_at
from barograph.models import TriageModel
from barograph.runtime.errors import ConfigError, DataError, NotEnoughDataError
from tests.detection.online.models import edge_model

SCORES = np.random.default_rng(0).beta(1, 30, 50_000)


def test_surprise_is_the_log_of_the_share_of_scores_as_high() -> None:
    tails = TailRates.of(SCORES)
    for p in (0.01, 0.05, 0.1, 0.2):
        assert tails.surprise(p) == pytest.approx(-np.log(np.mean(p <= SCORES)), abs=0.1)


def test_surprise_keeps_the_order_beyond_all_scores() -> None:
    p = np.linspace(0.0, 1.0, 2001)
    surprise = TailRates.of(SCORES).surprise(p)
    assert (np.diff(surprise) >= 0).all()
    assert (np.diff(surprise[p > SCORES.max()]) > 0).all()


def test_tail_rates_survive_a_round_trip_through_a_card() -> None:
    tails = TailRates.of(SCORES)
    card = {"tails": {"2": tails.to_card(), "5": tails.to_card()}}
    again = TailRates.from_card(card, 4)
    assert again.surprise(SCORES[:100]).tolist() == tails.surprise(SCORES[:100]).tolist()
    with pytest.raises(DataError, match="window 1"):
        TailRates.from_card(card, 1)


def test_tail_rates_need_enough_points() -> None:
    with pytest.raises(NotEnoughDataError, match="150 quiet points"):
        TailRates.of(SCORES[:150])


def released() -> tuple[TriageModel, TriageModel]:
    tails = TailRates.of(SCORES).to_card()
    thresholds = {"1": 7.0, "3": 6.0, "10": 4.8}
    first = edge_model(card={"tails": {"0": tails}})
    second = edge_model(
        "confirm",
        card={
            "tails": {"1": tails},
            "alarm_thresholds": {"steady": thresholds, "sure": thresholds},
        },
    )
    return first, second


def test_released_reads_the_threshold_of_a_rate() -> None:
    first, second = released()
    assert Budget.released(first, second).threshold == 6.0
    assert Budget.released(first, second, 10).threshold == pytest.approx(4.8)
    with pytest.raises(ConfigError, match=r"1\.0 to 10\.0"):
        Budget.released(first, second, 0.5)


@pytest.mark.parametrize("thresholds", [{"sure": {"1": 7.0, "3": 6.0}}, {"steady": {"3": 6.0}}, {}])
def test_card_without_thresholds_says_what_to_do(thresholds: dict[str, dict[str, float]]) -> None:
    first, second = released()
    card = {**second.card, "alarm_thresholds": thresholds}
    message = "'steady' with two rates is needed: train both models again with `barograph retrain`"
    with pytest.raises(DataError, match=re.escape(message)):
        Budget.released(first, replace(second, card=card))


def test_threshold_at_interpolates_in_the_log_of_the_rate() -> None:
    assert threshold_at({"1": 7.0, "3": 6.0, "10": 5.0}, 3**0.5) == pytest.approx(6.5)
