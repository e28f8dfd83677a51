"""The second look: a change is called early and confirmed later; a spike is withdrawn."""

import numpy as np
import pytest

from barograph.detection import OnlineDetector
from barograph.detection.online import Budget, Decision, StepKind, TailRates, replay
from barograph.detection.online.second_look import SecondLook, WindowScore
from barograph.errors import ConfigError
from barograph.series import Floats
from tests.detection.online.models import edge_model, edge_pair, noise, paper_model, quiet

FIRST, SECOND, BUDGET = edge_pair()


def new_detector() -> OnlineDetector:
    return OnlineDetector(FIRST, SECOND, budget=BUDGET)


def run(detector: OnlineDetector, values: Floats) -> list[Decision]:
    return [detector.update(float(value)) for value in values]


def kinds(detector: OnlineDetector) -> list[tuple[str, int, int]]:
    return [(step.kind.value, step.index, step.at) for step in detector.steps]


def test_step_is_called_at_once_and_confirmed_later() -> None:
    values = quiet(100)
    values[60:] += 12.0
    detector = new_detector()
    decisions = run(detector, values)
    assert decisions[60].is_change
    assert kinds(detector)[:2] == [("called", 60, 60), ("confirmed", 60, 61)]
    assert detector.change_points == [60]
    assert next(d.at for d in decisions if d.is_change) == 60


def test_spike_is_withdrawn_once_the_level_returns() -> None:
    values = quiet(100)
    values[60] += 12.0
    detector = new_detector()
    run(detector, values)
    assert kinds(detector) == [("called", 60, 60), ("withdrawn", 60, 62)]
    assert detector.change_points == []


def test_growing_step_is_moved_to_the_larger_jump() -> None:
    values = quiet(100)
    values[60] += 9.0
    values[62:] += 30.0
    detector = new_detector()
    run(detector, values)
    assert ("moved", 62) in [(kind, index) for kind, index, _ in kinds(detector)]
    assert detector.steps[1].moved_from == 60
    assert detector.change_points == [62]


def test_policy_without_window_0_raises_later() -> None:
    values = quiet(100)
    values[60:] += 12.0
    sure = OnlineDetector(FIRST, SECOND, budget=Budget(BUDGET.tails, {2: 1.0, 5: 1.0}, 6.0))
    decisions = run(sure, values)
    assert next(d.at for d in decisions if d.is_change) == 62
    assert decisions[62].index == 60
    assert sure.change_points == [60]


@pytest.mark.parametrize("history", [64, 2000])
def test_replay_equals_update_to_the_bit(history: int) -> None:
    rng = np.random.default_rng(8)
    values = noise(600, 2)
    for at in rng.integers(20, 580, 6):
        values[at:] += rng.normal(0, 8)
    values[rng.integers(20, 580, 8)] += 15.0
    detector = OnlineDetector(FIRST, SECOND, budget=BUDGET, history=history)
    decisions = run(detector, values)
    batch = replay(FIRST, values, SECOND, budget=BUDGET, history=history)
    assert tuple(detector.steps) == batch.steps
    assert detector.change_points == batch.change_points.tolist()
    assert [d.at for d in decisions if d.is_change] == batch.alarms.tolist()
    assert {step.kind for step in detector.steps} == set(StepKind)


@pytest.mark.parametrize("weights", [{0: 4.0, 2: 1.0, 5: 0.3}, {0: 1.0, 2: 1.0, 5: 1.0}])
def test_budget_bounds_the_alarms_on_noise(weights: dict[int, float]) -> None:
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


def test_repeat_is_an_alarm_only_with_a_higher_score() -> None:
    rule = SecondLook(Budget({}, {0: 1.0}, 5.0))
    assert rule.decide(10, [WindowScore(0, 10, 0.9, 6.0)])[0] is not None
    assert rule.decide(12, [WindowScore(0, 12, 0.9, 6.9)])[0] is None
    assert rule.decide(13, [WindowScore(0, 13, 0.9, 7.1)])[0] is not None
    assert rule.decide(19, [WindowScore(0, 19, 0.9, 5.1)])[0] is not None


def paper_first() -> OnlineDetector:
    """The paper's features at the newest point: an alarm is a probability above one half."""
    ramp = np.linspace(-12.0, 12.0, 200)
    tails = {w: TailRates(ramp, np.maximum(ramp, 0.0)) for w in range(11)}
    budget = Budget(tails, {0: 1.0}, 1e-9)
    return OnlineDetector(paper_model(), edge_model("confirm"), budget=budget)


def test_spike_is_withdrawn_with_the_features_of_the_paper() -> None:
    values = quiet(60)
    values[40] = 150.0
    detector = paper_first()
    run(detector, values)
    assert kinds(detector) == [("called", 40, 40), ("withdrawn", 40, 42)]
    assert detector.change_points == []


def test_withdrawal_restores_pre_of_later_points() -> None:
    values = quiet(60)
    values[40] = 150.0
    values[42:] += 300.0
    detector = paper_first()
    decisions = run(detector, values)
    # Against the spike the step at 42 is nothing; against all that came before, it is detector.
    assert kinds(detector)[:3] == [("called", 40, 40), ("withdrawn", 40, 42), ("called", 42, 42)]
    assert (decisions[42].is_change, decisions[42].index) == (True, 42)
    assert decisions[42].reasons[0].name == "pre_norm_mean"
    assert detector.change_points == [42]


def test_pairs_that_cannot_work_together_are_refused() -> None:
    with pytest.raises(ConfigError, match="confirming model"):
        OnlineDetector(FIRST, budget=BUDGET)
    with pytest.raises(ConfigError, match="bauer8"):
        replay(paper_model(), noise(50), SECOND, budget=BUDGET)
