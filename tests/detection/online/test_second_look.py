"""The second look: a change is called early and confirmed later; a spike is withdrawn."""

from functools import partial

import numpy as np
import pytest

from barograph.detection import OnlineDetector
from barograph.detection.online import (
    AlarmState,
    AlarmStep,
    Answer,
    Budget,
    Decision,
    OnlineJudge,
    PendingSeries,
    StepKind,
)
from barograph.detection.online.budget import WEIGHTS
from barograph.detection.online.second_look import BEFORE, SecondLook, Sides, WindowScore
from barograph.results.series import Floats
from tests.detection.online.models import edge_pair, noise, quiet, sides_of

FIRST, SECOND, BUDGET = edge_pair()


def new_detector() -> OnlineDetector:
    return OnlineDetector(FIRST, SECOND, budget=BUDGET)


def run(detector: OnlineDetector, values: Floats) -> list[Decision]:
    return [detector.update(float(value)) for value in values]


def kinds(detector: OnlineDetector) -> list[tuple[str, int, int]]:
    return [(step.kind.value, step.index, step.newest) for step in detector.steps]


def test_step_is_called_at_once_and_confirmed_later() -> None:
    values = quiet(100)
    values[60:] += 12.0
    detector = new_detector()
    decisions = run(detector, values)
    assert decisions[60].is_change
    assert kinds(detector)[:2] == [("called", 60, 60), ("confirmed", 60, 61)]
    assert [point.index for point in detector.change_points] == [60]
    assert next(d.newest for d in decisions if d.is_change) == 60


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
    assert [point.index for point in detector.change_points] == [62]


@pytest.mark.parametrize("history", [64, 2000])
def test_replay_equals_update_to_the_bit(history: int) -> None:
    rng = np.random.default_rng(8)
    values = noise(600, 2)
    for place in rng.integers(20, 580, 6):
        values[place:] += rng.normal(0, 8)
    for place in rng.integers(20, 580, 3):  # a step that grows
        values[place] += 7.0
        values[place + 1 :] += 30.0
    values[rng.integers(20, 580, 8)] += 15.0
    detector = OnlineDetector(FIRST, SECOND, budget=BUDGET, history=history)
    decisions = run(detector, values)
    judge = OnlineJudge(FIRST, SECOND, BUDGET, history)
    [log] = judge.judge([PendingSeries(values, 0)]).logs
    assert detector.steps == log.steps[-history:]
    assert [step for d in decisions for step in d.steps] == log.steps
    kept = [place for place in log.change_points if place > detector._base]
    assert [point.index for point in detector.change_points] == kept
    assert [d.newest for d in decisions if d.is_change] == log.alarms
    called = [step for step in log.steps if step.kind is StepKind.CALLED]
    assert [step.newest for step in called] == log.alarms
    assert {step.kind for step in log.steps} == set(StepKind)


def test_budget_bounds_the_alarms_on_noise() -> None:
    # At a threshold of x nats, each window alone is allowed weight * e^-x of the points.
    threshold = 5.0
    judge = OnlineJudge(FIRST, SECOND, Budget(BUDGET.tails, threshold))
    series = [noise(400, seed) for seed in range(200, 230)]
    logs = judge.judge([PendingSeries(values, 0) for values in series]).logs
    alarms = sum(place >= 20 for log in logs for place in log.alarms)
    points = sum(values.size - 20 for values in series)
    allowed = sum(WEIGHTS.values()) * np.exp(-threshold)
    assert 0.2 * allowed < alarms / points < 1.3 * allowed


def towards(direction: int, place: int) -> Sides:
    """Return both sides of any split of a series that moves at one place only."""
    values = [0.0] * place + [float(direction)] * 20
    return lambda split: (values[split - BEFORE : split], values[split:])


def scored(
    window: int, split: int, probability: float, score: float, *, is_confirmed: bool = False
) -> WindowScore:
    """Return what has this score, with the weight of its window."""
    surprise = score - np.log(WEIGHTS.get(window, 1.0))
    return WindowScore(window, split, probability, surprise, is_confirmed)


def machine(*looks: tuple[int, int, float, int]) -> tuple[list[int], list[tuple[str, int, int]]]:
    """Run the rule on scores given as newest point, window, score and direction.

    Returns:
        The points of the alarms, and kind, change point and newest point of each step.
    """
    rule = SecondLook(5.0)
    steps: list[tuple[str, int, int]] = []
    for place, window, score, direction in looks:
        split = place - window
        look = scored(window, split, 0.5 + score / 100, score)
        step = rule.decide(place, [look], towards(direction, split))
        steps += [] if step is None else [(step.kind.value, step.index, step.newest)]
    return [newest for kind, _, newest in steps if kind == "called"], steps


def test_near_score_in_the_same_direction_is_no_alarm() -> None:
    alarms, steps = machine((50, 0, 6.0, 1), (55, 0, 6.9, 1), (60, 5, 6.9, 1))
    assert (alarms, steps) == ([50], [("called", 50, 50)])


def test_surer_near_score_moves_or_confirms_the_change() -> None:
    alarms, steps = machine((50, 0, 6.0, 1), (54, 2, 7.0, 1), (57, 5, 8.0, 1))
    assert alarms == [50]
    assert steps == [("called", 50, 50), ("moved", 52, 54), ("confirmed", 52, 57)]


@pytest.mark.parametrize("place", [50, 51, 52])
def test_place_of_a_change_is_where_the_values_move(place: int) -> None:
    rule = SecondLook(5.0)
    step = rule.decide(53, [scored(2, 51, 0.6, 6.0)], towards(1, place))
    assert step == AlarmStep(StepKind.CALLED, place, 53, 0.6, score=6.0)
    assert rule.state.change == place
    again = rule.decide(55, [scored(2, 53, 0.9, 9.0)], towards(1, 52))
    assert again is not None
    assert again.kind is (StepKind.CONFIRMED if place == 52 else StepKind.MOVED)
    assert (again.index, again.moved_from) == (52, None if place == 52 else place)


def test_change_up_to_ten_points_later_replaces_the_other_if_it_is_surer() -> None:
    assert machine((50, 0, 6.0, 1), (56, 0, 6.9, 1), (60, 0, 6.9, 1))[0] == [50]
    assert machine((50, 0, 6.0, 1), (56, 0, 7.0, 1))[0] == [50, 56]
    assert machine((50, 0, 6.0, 1), (61, 0, 5.0, 1))[0] == [50, 61]
    rule = SecondLook(5.0)
    rule.decide(50, [scored(0, 50, 0.6, 6.0)], towards(1, 50))
    step = rule.decide(56, [scored(0, 56, 0.7, 7.0)], towards(1, 56))
    assert step == AlarmStep(StepKind.CALLED, 56, 56, 0.7, moved_from=50)


def test_certain_return_is_a_change_of_its_own_beside_the_first() -> None:
    alarms, steps = machine((50, 0, 9.0, 1), (53, 0, 8.0, -1), (56, 0, 8.9, -1))
    assert alarms == [50, 53]
    assert steps == [("called", 50, 50), ("called", 53, 53)]
    rule = SecondLook(5.0)
    rule.decide(50, [scored(0, 50, 0.6, 6.0)], towards(1, 50))
    step = rule.decide(61, [scored(0, 61, 0.7, 5.0)], towards(-1, 61))
    assert step == AlarmStep(StepKind.CALLED, 61, 61, 0.7)


def test_return_that_is_too_close_or_not_certain_is_nothing() -> None:
    assert machine((50, 0, 6.0, 1), (51, 0, 9.0, -1), (52, 0, 9.0, -1))[0] == [50]
    assert machine((50, 0, 6.0, 1), (53, 0, 7.9, -1), (60, 0, 7.9, -1))[0] == [50]


def test_return_that_reruns_confirm_is_a_change_at_once() -> None:
    rule = SecondLook(5.0)
    rule.decide(50, [scored(0, 50, 0.6, 9.0)], towards(1, 50))
    again = scored(0, 53, 0.7, 2.0, is_confirmed=True)
    assert rule.decide(53, [again], towards(1, 53)) is None
    step = rule.decide(53, [again], towards(-1, 53))
    assert step == AlarmStep(StepKind.CALLED, 53, 53, 0.7)


@pytest.mark.parametrize(("last", "answer"), [(0.9, Answer.QUIET), (3.0, Answer.SUSPECT)])
def test_result_at_which_a_known_change_moves_is_a_suspect_only_if_it_goes_farther(
    last: float, answer: Answer
) -> None:
    rule = SecondLook(5.0)
    rule.decide(50, [scored(0, 50, 0.5, 6.0)], towards(1, 50))
    values = [0.0] * 50 + [1.0, 0.0, last]
    sides = partial(sides_of, values)
    actual, step = rule.advance(52, [scored(0, 52, 0.7, 9.0)], sides, 9.0)
    assert step is not None
    assert (actual, step.kind, step.index) == (answer, StepKind.MOVED, 52)


def test_surer_score_of_the_same_place_takes_the_direction_of_more_points() -> None:
    rule = SecondLook(5.0)
    rule.decide(50, [scored(0, 50, 0.6, 6.0)], towards(1, 50))
    rule.decide(52, [scored(2, 50, 0.9, 8.0)], towards(-1, 50))
    assert rule.state.direction == -1


def test_score_before_the_standing_change_in_the_other_direction_is_nothing() -> None:
    assert machine((50, 0, 6.0, 1), (56, 0, 9.0, -1), (57, 5, 12.0, 1))[0] == [50, 56]


def judged_again(*, surprise: float, near: WindowScore | None, direction: int) -> AlarmStep | None:
    """Call a change at 50; judge it at 52 with a surprise, beside another score."""
    rule = SecondLook(5.0)
    rule.decide(50, [scored(0, 50, 0.6, 6.0)], towards(1, 50))
    scores = [scored(2, 50, 0.1, surprise), *([] if near is None else [near])]
    return rule.decide(52, scores, towards(direction, 52))


def test_unlikely_change_is_withdrawn_moved_or_replaced() -> None:
    near = scored(0, 52, 0.9, 5.5)
    assert judged_again(surprise=3.0, near=None, direction=1) is None
    withdrawn = AlarmStep(StepKind.WITHDRAWN, 50, 52, 0.1)
    assert judged_again(surprise=2.9, near=None, direction=1) == withdrawn
    moved = AlarmStep(StepKind.MOVED, 52, 52, 0.9, 50)
    assert judged_again(surprise=2.9, near=near, direction=1) == moved
    replaced = AlarmStep(StepKind.CALLED, 52, 52, 0.9, 50)
    assert judged_again(surprise=2.9, near=near, direction=-1) == replaced


def test_state_is_kept_as_long_as_a_score_can_point_near_the_change() -> None:
    rule = SecondLook(5.0)
    rule.decide(50, [scored(0, 50, 0.6, 6.0)], towards(1, 50))
    kept = AlarmState(50, 6.0, confirmed=False, direction=1, probability=0.6)
    assert rule.state.at(65) == kept  # window 5 at point 65 points at 60
    assert rule.state.at(66) is None


def test_later_decisions_name_the_known_change() -> None:
    values = quiet(100)
    values[60:] += 12.0
    decisions = run(new_detector(), values)
    assert [d.newest for d in decisions if d.answer is Answer.CHANGE] == [60]
    known = [d for d in decisions if d.known_since is not None]
    assert [d.newest for d in known] == list(range(61, 76))
    assert {(d.index, d.known_since, d.answer) for d in known} == {(60, 60, Answer.QUIET)}
    assert all(d.probability > 0.5 for d in decisions[60:76])


def test_judge_reports_the_probability_of_the_known_change() -> None:
    values = noise(300, 5)
    values[150:] += 9.0
    values[220] += 9.0
    decisions = run(new_detector(), values)
    judged = OnlineJudge(FIRST, SECOND, BUDGET)
    whole = judged.judge([PendingSeries(values, 0)])
    assert whole.probability.tolist() == [d.probability for d in decisions]
    assert np.flatnonzero(whole.is_change).tolist() == [d.newest for d in decisions if d.is_change]
    cut = 153  # while the change is known
    first = judged.judge([PendingSeries(values[:cut], 0)])
    then = judged.judge([PendingSeries(values, cut, state=first.logs[0].state)])
    assert [*first.probability, *then.probability] == whole.probability.tolist()
