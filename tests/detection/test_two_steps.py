"""Two steps in one direction, a few results apart, are two changes."""

import numpy as np
import pytest

import barograph as bg
from barograph.detection.levels import are_two, is_own_level
from barograph.detection.online import PendingSeries, StepKind, make_judge
from barograph.models import OnlineModels
from barograph.results.series import Floats

FIRST, DRAWS, ENOUGH = 60, 40, 36


def staircase(between: int, draw: int) -> Floats:
    levels = np.repeat([100.0, 140.0, 190.0], [FIRST, between, 15])
    noise = np.random.default_rng((between, draw)).normal(size=levels.size)
    return levels * (1.0 + 0.01 * noise)


@pytest.mark.parametrize("between", [3, 5, 8])
def test_second_step_is_an_alarm_within_three_results(between: int) -> None:
    series = [PendingSeries(staircase(between, draw), 0) for draw in range(DRAWS)]
    second = FIRST + between
    found = [
        any(
            step.kind is StepKind.CALLED
            and abs(step.index - second) <= 1
            and second <= step.newest <= second + 3
            for step in log.steps
        )
        for log in make_judge(OnlineModels.default()).judge(series).logs
    ]
    assert sum(found) >= ENOUGH


@pytest.mark.parametrize("between", [3, 5, 8])
def test_detect_reports_both_steps(between: int) -> None:
    both = 0
    for draw in range(DRAWS):
        places = [point.index for point in bg.detect(staircase(between, draw))]
        both += all(any(abs(p - k) <= 1 for p in places) for k in (FIRST, FIRST + between))
    assert both >= ENOUGH


def test_level_that_takes_a_few_results_to_settle_is_one_change() -> None:
    noise = np.random.default_rng(3).normal(size=40)
    values = np.repeat([100.0, 140.0], [30, 10]) + noise
    values[30:33] = [131.0, 138.0, 141.0]
    assert not are_two(values, 30, 33)


def test_places_too_near_each_other_are_one_change() -> None:
    values = np.repeat([1.0, 2.0, 3.0], [20, 2, 20])
    assert not are_two(values, 20, 22)
    assert are_two(np.repeat([1.0, 2.0, 3.0], [20, 3, 20]), 20, 23)
    assert are_two(np.repeat([1.0, 2.0, 3.0], [20, 3, 20]), 23, 20)


def test_levels_without_results_are_not_compared() -> None:
    assert not is_own_level([], [2.0], [3.0])
    assert not is_own_level([1.0], [2.0], [])


def test_a_result_between_two_levels_may_belong_to_both() -> None:
    assert is_own_level([1.0, 1.1, 0.9], [3.0, 3.1, 2.9], [5.0, 5.1, 4.9])
    assert not is_own_level([1.0, 1.1, 0.9], [3.0, 3.1, 5.0], [5.0, 5.1, 4.9])
