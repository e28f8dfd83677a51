import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from barograph.models.calibration import choose_threshold
from barograph.runtime.errors import ConfigError, NotEnoughDataError

PAIRS = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from(np.linspace(0, 1, 21).tolist())), min_size=1
)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(PAIRS, st.sampled_from(["accuracy", "f1"]))
def test_no_other_threshold_is_better(pairs: list[tuple[int, float]], goal: str) -> None:
    truth = np.array([t for t, _ in pairs])
    probability = np.array([p for _, p in pairs])
    judge = accuracy_score if goal == "accuracy" else lambda a, b: f1_score(a, b, zero_division=0.0)
    best = max(judge(truth, probability >= t) for t in np.linspace(0, 1, 41))
    assert judge(truth, probability >= choose_threshold(truth, probability, goal)) >= best - 1e-12


def test_ties_are_broken_by_the_distance_to_one_half() -> None:
    assert choose_threshold([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9]) == 0.5


@settings(max_examples=50, deadline=None, derandomize=True)
@given(PAIRS, st.sampled_from([0.0, 1.0, 50.0, 333.3, 1000.0]))
def test_alarm_budget_is_kept_and_used_best(pairs: list[tuple[int, float]], budget: float) -> None:
    truth = np.array([t for t, _ in pairs])
    probability = np.array([p for _, p in pairs])
    threshold = choose_threshold(truth, probability, f"alarms:{budget}")
    alarms = probability >= threshold
    assert 1000 * alarms.sum() <= budget * truth.size
    for other in np.linspace(0, 1.001, 1002):
        called = probability >= other
        if 1000 * called.sum() <= budget * truth.size:
            assert truth[called].sum() <= truth[alarms].sum()


def test_budget_of_zero_calls_nothing_real() -> None:
    assert choose_threshold([1, 1], [1.0, 1.0], "alarms:0") > 1
    assert choose_threshold([1, 0], [0.8, 0.5], "alarms:0") == pytest.approx(0.9)


def test_wrong_goals_and_empty_data_are_refused() -> None:
    with pytest.raises(ConfigError, match="unknown threshold goal 'luck'; allowed"):
        choose_threshold([0], [0.5], "luck")
    with pytest.raises(ConfigError, match="unknown threshold goal 'alarms:-1'"):
        choose_threshold([0], [0.5], "alarms:-1")
    with pytest.raises(ConfigError, match="N must be at most 1000"):
        choose_threshold([0], [0.5], "alarms:1001")
    with pytest.raises(NotEnoughDataError):
        choose_threshold([], [])
