"""The second look: early and then surer; a spike that returns is told from a step."""

import numpy as np
import pytest

from barograph.detection import OnlineDetector
from barograph.detection.online import Budget, Decision, Kind, TailRates, replay
from barograph.detection.online.second_look import Look, SecondLook
from barograph.errors import ConfigError
from barograph.series import Floats
from tests.detection.edge_scorer import EdgeScorer, looking_twice, noise, quiet
from tests.detection.test_online import Steps

FIRST, SECOND, BUDGET = looking_twice()


def detector() -> OnlineDetector:
    return OnlineDetector(FIRST, SECOND, budget=BUDGET)


def run(one: OnlineDetector, values: Floats) -> list[Decision]:
    return [one.update(float(value)) for value in values]


def kinds(one: OnlineDetector) -> list[tuple[str, int, int]]:
    return [(step.kind.value, step.index, step.at) for step in one.steps]


def test_a_step_is_called_at_once_and_confirmed_as_points_follow() -> None:
    values = quiet(100)
    values[60:] += 12.0
    one = detector()
    decisions = run(one, values)
    assert decisions[60].is_change
    assert kinds(one)[:2] == [("called", 60, 60), ("confirmed", 60, 61)]
    assert one.change_points == [60]
    assert next(d.at for d in decisions if d.is_change) == 60


def test_a_spike_is_called_and_withdrawn_when_it_returns() -> None:
    values = quiet(100)
    values[60] += 12.0
    one = detector()
    run(one, values)
    assert kinds(one) == [("called", 60, 60), ("withdrawn", 60, 62)]
    assert one.change_points == []


def test_a_step_that_grows_is_moved_to_where_it_is_clear() -> None:
    values = quiet(100)
    values[60] += 9.0
    values[62:] += 30.0
    one = detector()
    run(one, values)
    assert ("moved", 62) in [(kind, index) for kind, index, _ in kinds(one)]
    assert one.steps[1].moved_from == 60
    assert one.change_points == [62]


def test_sure_waits_and_early_does_not() -> None:
    values = quiet(100)
    values[60:] += 12.0
    sure = OnlineDetector(FIRST, SECOND, budget=Budget(BUDGET.tails, {2: 1.0, 5: 1.0}, 6.0))
    decisions = run(sure, values)
    assert next(d.at for d in decisions if d.is_change) == 62
    assert decisions[62].index == 60
    assert sure.change_points == [60]


@pytest.mark.parametrize("history", [64, 2000])
def test_batch_and_update_agree_to_the_bit(history: int) -> None:
    rng = np.random.default_rng(8)
    values = noise(600, 2)
    for at in rng.integers(20, 580, 6):
        values[at:] += rng.normal(0, 8)
    values[rng.integers(20, 580, 8)] += 15.0
    one = OnlineDetector(FIRST, SECOND, budget=BUDGET, history=history)
    decisions = run(one, values)
    batch = replay(FIRST, values, SECOND, budget=BUDGET, history=history)
    assert tuple(one.steps) == batch.steps
    assert one.change_points == batch.change_points.tolist()
    assert [d.at for d in decisions if d.is_change] == batch.alarms.tolist()
    assert {step.kind for step in one.steps} == set(Kind)


@pytest.mark.parametrize("weights", [{0: 4.0, 2: 1.0, 5: 0.3}, {0: 1.0, 2: 1.0, 5: 1.0}])
def test_the_budget_bounds_the_alarms_on_noise(weights: dict[int, float]) -> None:
    # At a threshold of x nats, each window alone is allowed weight * e^-x of the points.
    threshold = 5.0
    budget = Budget(BUDGET.tails, weights, threshold)
    alarms = points = 0
    for seed in range(200, 230):
        values = noise(400, seed)
        alarms += int((replay(FIRST, values, SECOND, budget=budget).alarms >= 20).sum())
        points += values.size - 20
    allowed = sum(weights.values()) * np.exp(-threshold)
    assert 0.2 * allowed < alarms / points < 1.3 * allowed


def test_a_repeat_is_no_alarm_unless_it_is_surer() -> None:
    follow = SecondLook(Budget({}, {0: 1.0}, 5.0))
    assert follow.see(10, [Look(0, 10, 0.9, 6.0)])[0] is not None
    assert follow.see(12, [Look(0, 12, 0.9, 6.9)])[0] is None
    assert follow.see(13, [Look(0, 13, 0.9, 7.1)])[0] is not None
    assert follow.see(19, [Look(0, 19, 0.9, 5.1)])[0] is not None


def paper_first() -> OnlineDetector:
    """The paper's features at the newest point: an alarm is a probability above one half."""
    ramp = np.linspace(-12.0, 12.0, 200)
    tails = {w: TailRates(ramp, np.maximum(ramp, 0.0)) for w in range(11)}
    return OnlineDetector(Steps(), EdgeScorer("confirm"), budget=Budget(tails, {0: 1.0}, 1e-9))


def test_a_spike_is_withdrawn_with_the_features_of_the_paper_too() -> None:
    values = quiet(60)
    values[40] = 150.0
    one = paper_first()
    run(one, values)
    assert kinds(one) == [("called", 40, 40), ("withdrawn", 40, 42)]
    assert one.change_points == []


def test_pre_of_later_decisions_is_computed_anew_when_one_is_withdrawn() -> None:
    values = quiet(60)
    values[40] = 150.0
    values[42:] += 300.0
    one = paper_first()
    decisions = run(one, values)
    # Against the spike the step at 42 is nothing; against all that came before, it is one.
    assert kinds(one)[:3] == [("called", 40, 40), ("withdrawn", 40, 42), ("called", 42, 42)]
    assert (decisions[42].is_change, decisions[42].index) == (True, 42)
    assert decisions[42].reasons[0].name == "pre_norm_mean"
    assert one.change_points == [42]


def test_one_model_needs_no_budget_and_replay_needs_models_of_the_regime() -> None:
    with pytest.raises(ConfigError, match="confirming model"):
        OnlineDetector(FIRST, budget=BUDGET)
    with pytest.raises(ConfigError, match="bauer8"):
        replay(Steps(), noise(50), SECOND, budget=BUDGET)
