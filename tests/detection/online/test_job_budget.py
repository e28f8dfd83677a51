"""The budget of a job: how rare an alarm must be among many series."""

import math
from dataclasses import replace

import numpy as np
import pytest

from barograph.detection.online import Budget, make_judge
from barograph.detection.online.budget import (
    CONFIRMED_SPIKES,
    WEIGHTS,
    JobBudget,
    lead_of,
    weights_of,
)
from barograph.detection.online.newest import MODEL_LEAD, SUSPECT, departure
from barograph.models import OnlineModels
from barograph.runtime.errors import DataError

JUDGE = make_judge(OnlineModels.default())
BUDGET = JobBudget(JUDGE.budget)
SIMPLE = JobBudget(Budget({}, 6.0, {"1": 7.0, "3": 6.0, "10": 5.0}))


def test_sureness_rises_with_the_score_if_it_is_known() -> None:
    budget = Budget({}, 6.0, sure=(4.0, 32.0))
    low, middle, high = (budget.sureness(score) or 0.0 for score in (6.0, 8.0, 10.0))
    assert middle == pytest.approx(0.5)
    assert 0.0 < low < middle < high
    assert budget.sureness(math.inf) is None
    assert SIMPLE.budget.sureness(8.0) is None


@pytest.mark.parametrize("weights", [{"0": 1.0}, {"0": 1.0, "2": 1.0, "5": 0.0}])
def test_card_with_other_weights_is_refused(weights: dict[str, float]) -> None:
    assert weights_of({}) == WEIGHTS
    with pytest.raises(DataError, match="positive weights for the windows 0, 2, 5"):
        weights_of({"alarm_weights": weights})


def test_card_says_what_the_model_of_the_newest_point_counts_as_a_suspect() -> None:
    assert lead_of({}) == MODEL_LEAD
    former, released = Budget({}, 6.0), replace(JUDGE.budget, tails={})
    assert lead_of(JUDGE.confirm.card) == released.lead > former.lead
    scores = released.suspicion([0.0, 6.0, 7.0], [6.0, 3.0, np.nan])
    np.testing.assert_array_equal(scores, [6.0 + released.lead, 6.0, np.nan])
    assert former.version == replace(former, lead=MODEL_LEAD).version
    assert released.version != replace(released, lead=MODEL_LEAD).version


def test_rate_of_an_alarm_is_that_of_the_card_and_continues_beyond_it() -> None:
    thresholds = JUDGE.confirm.card["alarm_thresholds"]["steady"]
    for rate, threshold in thresholds.items():
        assert BUDGET.alarm_rate(threshold) == pytest.approx(float(rate) / 1000)
    scores = np.arange(0.0, 40.0, 0.5)
    rates = [BUDGET.alarm_rate(score) for score in scores.tolist()]
    assert np.all(np.diff(rates) <= 0)
    assert rates[0] <= 1.0
    assert SIMPLE.alarm_rate(9.0) == pytest.approx(0.001 / 9)


@pytest.mark.parametrize(
    ("rates", "series", "expected"),
    [
        ([], 10, -1.0),
        ([0.003], 30, 0.003),  # in a small job every alarm counts
        ([0.003], 50, -1.0),
        ([0.0001, 0.003], 1000, 0.0001),
        ([0.003] * 40, 1000, 0.003),  # many series that move together
        ([0.003] * 20, 1000, -1.0),
    ],
)
def test_one_alarm_must_be_rarer_than_many_at_one_commit(
    rates: list[float], series: int, expected: float
) -> None:
    assert SIMPLE.highest_rate(rates, series) == expected


def test_quiet_commits_turn_red_as_often_as_allowed() -> None:
    rng = np.random.default_rng(0)
    for size in (50, 200, 1000):
        red = [SIMPLE.highest_rate(rng.random(size).tolist(), size) >= 0 for _ in range(2000)]
        assert np.mean(red) == pytest.approx(SIMPLE.share, abs=0.03)


def test_change_that_reruns_confirm_is_as_rare_as_the_spike_and_its_confirmation() -> None:
    before = 100 + np.random.default_rng(3).standard_normal(60)
    runs = np.array([140.0, 141.0])
    surprise = departure(before, 140.0).surprise
    expected = CONFIRMED_SPIKES * BUDGET.suspect_rate(surprise, 0.0)
    assert math.exp(-surprise) < expected / CONFIRMED_SPIKES < math.exp(-SUSPECT)
    assert BUDGET.confirmed_rate(before, runs, 0.1) == expected
    spike = BUDGET.confirmed_rate(before, np.array([140.0, 100.0]), 0.0)
    assert spike > 100 * expected
