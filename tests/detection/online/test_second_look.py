"""The second look: a change is called early and confirmed later; a spike is withdrawn."""

from dataclasses import replace
from functools import partial
from itertools import product

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
    replay_many,
)
from barograph.detection.online.rule import Decided, NewestResult, Sides, WindowScore
from barograph.detection.online.second_look import SecondLook
from barograph.detection.online.views import BEFORE, sides_of
from barograph.results.series import Floats
from barograph.runtime.errors import ConfigError
from tests.detection.online.models import edge_pair, noise, paper_model, quiet
from tests.training.online_histories import learned

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


def test_policy_without_window_0_raises_later() -> None:
    values = quiet(100)
    values[60:] += 12.0
    sure = OnlineDetector(FIRST, SECOND, budget=Budget(BUDGET.tails, {2: 1.0, 5: 1.0}, 6.0))
    decisions = run(sure, values)
    assert next(d.newest for d in decisions if d.is_change) == 62
    assert decisions[62].index == 60
    assert [point.index for point in sure.change_points] == [60]


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
    [batch] = replay_many(FIRST, [values], SECOND, budget=BUDGET, history=history)
    assert tuple(detector.steps) == batch.steps
    assert list(detector._memory.change_points) == batch.change_points.tolist()
    assert [d.newest for d in decisions if d.is_change] == batch.alarms.tolist()
    called = [step for step in batch.steps if step.kind is StepKind.CALLED]
    assert [step.newest for step in called] == batch.alarms.tolist()
    assert {step.kind for step in detector.steps} == set(StepKind)


@pytest.mark.parametrize("weights", [{0: 4.0, 2: 1.0, 5: 0.3}, {0: 1.0, 2: 1.0, 5: 1.0}])
def test_budget_bounds_the_alarms_on_noise(weights: dict[int, float]) -> None:
    # At a threshold of x nats, each window alone is allowed weight * e^-x of the points.
    threshold = 5.0
    budget = Budget(BUDGET.tails, weights, threshold)
    alarms = points = 0
    for seed in range(200, 230):
        values = noise(400, seed)
        [batch] = replay_many(FIRST, [values], SECOND, budget=budget)
        alarms += int((batch.alarms >= 20).sum())
        points += values.size - 20
    allowed = sum(weights.values()) * np.exp(-threshold)
    assert 0.2 * allowed < alarms / points < 1.3 * allowed


def towards(direction: int, place: int) -> Sides:
    """Return both sides of any split of a series that moves at one place only."""
    values = [0.0] * place + [float(direction)] * 20
    return lambda split: (values[split - BEFORE : split], values[split:])


def machine(*looks: tuple[int, int, float, int]) -> tuple[list[int], list[tuple[str, int, int]]]:
    """Run the rule on scores given as newest point, window, surprise and direction.

    Returns:
        The points of the alarms, and kind, change point and newest point of each step.
    """
    rule = SecondLook(Budget({}, {0: 1.0, 2: 1.0, 5: 1.0}, 5.0))
    alarms: list[int] = []
    steps: list[tuple[str, int, int]] = []
    for place, window, surprise, direction in looks:
        score = WindowScore(window, place - window, 0.5 + surprise / 100, surprise)
        alarm, taken = rule.decide(place, [score], towards(direction, score.split))
        alarms += [place] if alarm is not None else []
        steps += [(step.kind.value, step.index, step.newest) for step in taken]
    return alarms, steps


def test_near_score_in_the_same_direction_is_no_alarm() -> None:
    alarms, steps = machine((50, 0, 6.0, 1), (55, 0, 6.9, 1), (60, 5, 6.9, 1))
    assert (alarms, steps) == ([50], [("called", 50, 50)])


def test_surer_near_score_moves_or_confirms_the_change() -> None:
    alarms, steps = machine((50, 0, 6.0, 1), (54, 2, 7.0, 1), (57, 5, 8.0, 1))
    assert alarms == [50]
    assert steps == [("called", 50, 50), ("moved", 52, 54), ("confirmed", 52, 57)]


@pytest.mark.parametrize("place", [50, 51, 52])
def test_place_of_a_change_is_where_the_values_move(place: int) -> None:
    rule = SecondLook(Budget({}, {0: 1.0, 2: 1.0}, 5.0))
    score = WindowScore(2, 51, 0.6, 6.0)
    alarm, [step] = rule.decide(53, [score], towards(1, place))
    assert alarm == score._replace(split=place)
    assert step == AlarmStep(StepKind.CALLED, place, 53, 0.6, score=6.0)
    assert rule.state.change == place
    _, [again] = rule.decide(55, [WindowScore(2, 53, 0.9, 9.0)], towards(1, 52))
    assert again.kind is (StepKind.CONFIRMED if place == 52 else StepKind.MOVED)
    assert (again.index, again.moved_from) == (52, None if place == 52 else place)


def test_change_up_to_ten_points_later_replaces_the_other_if_it_is_surer() -> None:
    assert machine((50, 0, 6.0, 1), (56, 0, 6.9, 1), (60, 0, 6.9, 1))[0] == [50]
    assert machine((50, 0, 6.0, 1), (56, 0, 7.0, 1))[0] == [50, 56]
    assert machine((50, 0, 6.0, 1), (61, 0, 5.0, 1))[0] == [50, 61]
    rule = SecondLook(Budget({}, {0: 1.0}, 5.0))
    rule.decide(50, [WindowScore(0, 50, 0.6, 6.0)], towards(1, 50))
    alarm, steps = rule.decide(56, [WindowScore(0, 56, 0.7, 7.0)], towards(1, 56))
    assert alarm is not None
    assert steps == [AlarmStep(StepKind.CALLED, 56, 56, 0.7, moved_from=50)]


def test_certain_return_is_a_change_of_its_own_beside_the_first() -> None:
    alarms, steps = machine((50, 0, 9.0, 1), (53, 0, 8.0, -1), (56, 0, 8.9, -1))
    assert alarms == [50, 53]
    assert steps == [("called", 50, 50), ("called", 53, 53)]
    rule = SecondLook(Budget({}, {0: 1.0}, 5.0))
    rule.decide(50, [WindowScore(0, 50, 0.6, 6.0)], towards(1, 50))
    _, [step] = rule.decide(61, [WindowScore(0, 61, 0.7, 5.0)], towards(-1, 61))
    assert step == AlarmStep(StepKind.CALLED, 61, 61, 0.7)


def test_return_that_is_too_close_or_not_certain_is_nothing() -> None:
    assert machine((50, 0, 6.0, 1), (51, 0, 9.0, -1), (52, 0, 9.0, -1))[0] == [50]
    assert machine((50, 0, 6.0, 1), (53, 0, 7.9, -1), (60, 0, 7.9, -1))[0] == [50]


def test_return_that_reruns_confirm_is_a_change_at_once() -> None:
    rule = SecondLook(Budget({}, {0: 1.0}, 5.0))
    rule.decide(50, [WindowScore(0, 50, 0.6, 9.0)], towards(1, 50))
    again = WindowScore(0, 53, 0.7, 2.0, is_confirmed=True)
    assert rule.decide(53, [again], towards(1, 53)) == (None, [])
    alarm, steps = rule.decide(53, [again], towards(-1, 53))
    assert alarm == again
    assert steps == [AlarmStep(StepKind.CALLED, 53, 53, 0.7)]


@pytest.mark.parametrize(("last", "answer"), [(0.9, Answer.QUIET), (3.0, Answer.SUSPECT)])
def test_result_at_which_a_known_change_moves_is_a_suspect_only_if_it_goes_farther(
    last: float, answer: Answer
) -> None:
    rule = SecondLook(Budget({}, {0: 1.0}, 5.0))
    rule.decide(50, [WindowScore(0, 50, 0.5, 6.0)], towards(1, 50))
    newest = NewestResult(9.0, has_reruns=False, is_step=False, is_clear=True)
    score, sides = WindowScore(0, 52, 0.7, 9.0), partial(sides_of, [0.0] * 50 + [1.0, 0.0, last])
    done = rule.advance(52, 0, lambda _: [score], sides, newest)
    assert [(step.kind, step.index) for step in done.steps] == [(StepKind.MOVED, 52)]
    assert done.answer is answer


def test_surer_score_of_the_same_place_takes_the_direction_of_more_points() -> None:
    rule = SecondLook(Budget({}, {0: 1.0, 2: 1.0}, 5.0))
    rule.decide(50, [WindowScore(0, 50, 0.6, 6.0)], towards(1, 50))
    rule.decide(52, [WindowScore(2, 50, 0.9, 8.0)], towards(-1, 50))
    assert rule.state.direction == -1


def test_score_before_the_standing_change_in_the_other_direction_is_nothing() -> None:
    assert machine((50, 0, 6.0, 1), (56, 0, 9.0, -1), (57, 5, 12.0, 1))[0] == [50, 56]


def judged_again(*, surprise: float, near: WindowScore | None, direction: int) -> Decided:
    """Call a change at 50; judge it at 52 with a surprise, beside another score."""
    rule = SecondLook(Budget({}, {0: 1.0, 2: 1.0}, 5.0))
    rule.decide(50, [WindowScore(0, 50, 0.6, 6.0)], towards(1, 50))
    scores = [WindowScore(2, 50, 0.1, surprise), *([] if near is None else [near])]
    return rule.decide(52, scores, towards(direction, 52))


def test_unlikely_change_is_withdrawn_moved_or_replaced() -> None:
    near = WindowScore(0, 52, 0.9, 5.5)
    assert judged_again(surprise=3.0, near=None, direction=1) == (None, [])
    withdrawn = AlarmStep(StepKind.WITHDRAWN, 50, 52, 0.1)
    assert judged_again(surprise=2.9, near=None, direction=1) == (None, [withdrawn])
    moved = AlarmStep(StepKind.MOVED, 52, 52, 0.9, 50)
    assert judged_again(surprise=2.9, near=near, direction=1) == (None, [moved])
    replaced = AlarmStep(StepKind.CALLED, 52, 52, 0.9, 50)
    assert judged_again(surprise=2.9, near=near, direction=-1) == (near, [replaced])


def test_state_is_kept_as_long_as_a_score_can_point_near_the_change() -> None:
    rule = SecondLook(Budget({}, {0: 1.0, 5: 1.0}, 5.0))
    rule.decide(50, [WindowScore(0, 50, 0.6, 6.0)], towards(1, 50))
    kept = AlarmState(50, 6.0, confirmed=False, direction=1, probability=0.6)
    assert rule.state_at(65) == kept  # window 5 at point 65 points at 60
    assert rule.state_at(66) is None


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
    judged = OnlineJudge(FIRST, confirm=SECOND, budget=BUDGET)
    whole = judged.judge([PendingSeries(values, 0, 0)])
    assert whole.probability.tolist() == [d.probability for d in decisions]
    assert np.flatnonzero(whole.is_change).tolist() == [d.newest for d in decisions if d.is_change]
    cut = 153  # while the change is known
    first = judged.judge([PendingSeries(values[:cut], 0, 0)])
    then = judged.judge([PendingSeries(values, cut, 0, 0, first.logs[0].state)])
    assert [*first.probability, *then.probability] == whole.probability.tolist()


def test_pairs_that_cannot_work_together_are_refused() -> None:
    with pytest.raises(ConfigError, match="confirming model"):
        OnlineDetector(FIRST, budget=BUDGET)
    with pytest.raises(ConfigError, match="bauer8"):
        OnlineDetector(paper_model(), SECOND, budget=BUDGET)
    with pytest.raises(ConfigError, match="bauer8"):
        replay_many(paper_model(), [noise(50)], SECOND, budget=BUDGET)
    _, models = learned()
    judge = OnlineJudge(replace(paper_model(), card=models.online.card), 500)
    with pytest.raises(ConfigError, match="bauer8"):
        judge.with_second_look(models.confirm, "even", 10)


def test_version_of_a_judge_depends_on_everything_that_decides() -> None:
    _, models = learned()
    tails = {**models.online.card["tails"], "0": models.confirm.card["tails"]["1"]}
    online = replace(models.online, card={**models.online.card, "tails": tails})
    confirm = replace(models.confirm, calibration=None)
    versions = [
        OnlineJudge(first, 500).with_second_look(second, "even", 10).version
        for first, second in product((models.online, online), (models.confirm, confirm))
    ]
    again = OnlineJudge(models.online, 500).with_second_look(models.confirm, "even", 10)
    assert again.version == versions[0]
    assert len(set(versions)) == 4
